#include "event_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/input_file.h"
#include "base/system_error.h"
#include "diml/error.h"

namespace diml::learn {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "records are little-endian");

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kHeader = sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr std::size_t kFooter = sizeof(std::uint32_t);

template <typename T>
std::string bytes_of(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
T value_at(std::string_view data) {
  T value;
  std::memcpy(&value, data.data(), sizeof(T));
  return value;
}

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, lowest bit first
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

// Masked as TensorFlow stores it: a checksum of data that contain checksums would be weak.
std::uint32_t masked_crc(std::string_view data) {
  constexpr std::uint32_t kMask = 0xA282EAD8;
  return std::rotr(crc32c(data), 15) + kMask;
}

// The length of the file's complete records.
std::size_t whole_records(std::string_view file) {
  std::size_t whole = 0;
  while (file.size() - whole >= kHeader + kFooter) {
    const std::string_view rest = file.substr(whole);
    const auto length = value_at<std::uint64_t>(rest);
    if (value_at<std::uint32_t>(rest.substr(8)) != masked_crc(rest.substr(0, 8))) break;
    if (length > rest.size() - kHeader - kFooter) break;
    const std::string_view data = rest.substr(kHeader, length);
    if (value_at<std::uint32_t>(rest.substr(kHeader + length)) != masked_crc(data)) break;
    whole += kHeader + length + kFooter;
  }
  return whole;
}

// The few forms of a protobuf field that an Event needs.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string key(unsigned field, Wire wire) {
  return varint(field << 3 | static_cast<unsigned>(wire));
}

std::string bytes_field(unsigned field, std::string_view bytes) {
  return key(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}

std::string event(double wall_time) { return key(1, Wire::fixed64) + bytes_of(wall_time); }

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

// Their names begin with the time: the last one in alphabetical order.
std::string last_event_file(const std::string& folder) {
  std::string last;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && entry.is_regular_file()) last = std::max(last, name);
  }
  return last.empty() ? "" : folder + "/" + last;
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_crc_table();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string tf_record(std::string_view data) {
  const std::string length = bytes_of(static_cast<std::uint64_t>(data.size()));
  return length + bytes_of(masked_crc(length)) + std::string(data) + bytes_of(masked_crc(data));
}

std::string version_event(double wall_time) {
  return event(wall_time) + bytes_field(3, "brain.Event:2");
}

std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag, float value) {
  const std::string one = bytes_field(1, tag) + key(2, Wire::fixed32) + bytes_of(value);
  return event(wall_time) + key(2, Wire::varint) + varint(static_cast<std::uint64_t>(step)) +
         bytes_field(5, bytes_field(1, one));
}

EventFile::EventFile(const std::string& folder, double seconds, bool append)
    : started_seconds_(seconds), started_(std::chrono::steady_clock::now()) {
  const std::string last = append ? last_event_file(folder) : "";
  if (last.empty()) {
    create(folder);
  } else {
    continue_with(last);
  }
}

EventFile::~EventFile() {
  if (descriptor_ < 0) return;
  try {
    flush();
  } catch (const Error&) {  // callers that need the error call flush()
  }
  ::close(descriptor_);
}

void EventFile::fail(const char* what) const { throw system_error(path_ + ": " + what, errno); }

void EventFile::create(const std::string& folder) {
  const std::string name = folder + "/" + std::string(kPrefix) +
                           std::to_string(static_cast<std::int64_t>(started_seconds_)) + "." +
                           host_name();
  path_ = name;
  // Two runs within a second each have their own.
  for (int other = 1; descriptor_ < 0; ++other) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail("cannot be made");
    if (descriptor_ < 0) path_ = name + "." + std::to_string(other);
  }
  pending_ = tf_record(version_event(started_seconds_));
  flush();
}

void EventFile::continue_with(const std::string& path) {
  path_ = path;
  const std::vector<std::uint8_t> bytes = read_file(path);
  const std::string before(bytes.begin(), bytes.end());
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot be opened");
  const std::size_t whole = whole_records(before);
  if (whole < before.size() && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
    fail("cannot be cut to its whole records");
  }
  if (whole == 0) pending_ = tf_record(version_event(started_seconds_));
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - started_;
  pending_ += tf_record(
      scalar_event(started_seconds_ + since.count(), step, tag, static_cast<float>(value)));
}

void EventFile::flush() {
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      pending_ = std::string(rest);
      fail("cannot be written");
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  pending_.clear();
}

}  // namespace diml::learn
