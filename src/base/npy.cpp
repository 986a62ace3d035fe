#include "diml/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_error.h"
#include "diml/float16.h"

namespace diml {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays on disk are little-endian");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 1 << 16;
constexpr std::size_t kMostDimensions = 32;

// The header is a Python dictionary literal. Three keys are known; the values are found behind
// them.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  const std::size_t start = header.find_first_not_of(" :");
  return start == std::string_view::npos ? std::string_view{} : header.substr(start);
}

bool parse_shape(std::string_view text, std::vector<std::size_t>& shape) {
  if (text.empty() || text.front() != '(') return false;
  std::size_t position = 1;
  while (position < text.size() && text[position] != ')') {
    const char c = text[position];
    if (c == ' ' || c == ',') {
      ++position;
      continue;
    }
    if (c < '0' || c > '9' || shape.size() == kMostDimensions) return false;
    std::size_t extent = 0;
    for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
      const std::size_t digit = static_cast<std::size_t>(text[position] - '0');
      if (extent > (std::numeric_limits<std::size_t>::max() - digit) / 10) return false;
      extent = extent * 10 + digit;
    }
    shape.push_back(extent);
  }
  return position < text.size();
}

// The number of elements, or nothing where it would not fit the address space.
bool multiply(const std::vector<std::size_t>& shape, std::size_t& product) {
  product = 1;
  for (const std::size_t extent : shape) {
    if (extent != 0 && product > (std::size_t{1} << 48) / extent) return false;
    product *= extent;
  }
  return true;
}

}  // namespace

std::size_t size_of(ArrayType type) {
  switch (type) {
    case ArrayType::float32:
      return 4;
    case ArrayType::float16:
      return 2;
    case ArrayType::int64:
      return 8;
  }
  return 0;
}

const char* name_of(ArrayType type) {
  switch (type) {
    case ArrayType::float32:
      return "float32";
    case ArrayType::float16:
      return "float16";
    case ArrayType::int64:
      return "int64";
  }
  return "unknown";
}

std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

NpyFile::NpyFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not wait
  if (descriptor_ < 0) fail_to("be opened");
  try {
    parse_header();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

NpyFile::~NpyFile() { ::close(descriptor_); }

void NpyFile::parse_header() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_to("be read");
  if (!S_ISREG(status.st_mode)) fail("is not a regular file; name a .npy file");
  const std::size_t file_bytes = static_cast<std::size_t>(status.st_size);

  std::array<unsigned char, 12> start{};
  if (file_bytes < start.size()) fail("is not a .npy file; write it with numpy.save");
  read_bytes(0, start.data(), start.size());
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    fail("is not a .npy file; write it with numpy.save");
  }
  const int version = start[6];
  if (version < 1 || version > 3) fail("has an unknown .npy version; write it with numpy.save");
  std::size_t header_bytes = start[8] | static_cast<std::size_t>(start[9]) << 8;
  std::size_t header_offset = 10;
  if (version >= 2) {
    header_bytes |= static_cast<std::size_t>(start[10]) << 16;
    header_bytes |= static_cast<std::size_t>(start[11]) << 24;
    header_offset = 12;
  }
  if (header_bytes > kLongestHeader || header_offset + header_bytes > file_bytes) {
    fail("is truncated in its header; write it again");
  }
  std::string header(header_bytes, '\0');
  read_bytes(header_offset, header.data(), header_bytes);
  data_offset_ = header_offset + header_bytes;

  const std::string_view descr = value_of(header, "'descr'");
  if (descr.starts_with("'<f4'")) {
    type_ = ArrayType::float32;
  } else if (descr.starts_with("'<f2'")) {
    type_ = ArrayType::float16;
  } else if (descr.starts_with("'<i8'")) {
    type_ = ArrayType::int64;
  } else {
    std::string shown(descr.substr(0, std::min<std::size_t>(descr.find(','), 16)));
    std::replace_if(
        shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    fail("has type " + shown + "; arrays are float32, float16 or int64: convert it with .astype()");
  }
  if (!value_of(header, "'fortran_order'").starts_with("False")) {
    fail("is in Fortran order; convert it with numpy.ascontiguousarray");
  }
  if (!parse_shape(value_of(header, "'shape'"), shape_) || !multiply(shape_, count_)) {
    fail("has no readable shape; write it with numpy.save");
  }
  const std::size_t expected = data_offset_ + count_ * size_of(type_);
  if (file_bytes != expected) {
    fail("has " + std::to_string(file_bytes) + " bytes where its shape " + shape_text(shape_) +
         " needs " + std::to_string(expected) +
         (file_bytes < expected ? ": it is truncated, write it again" : ": write it again"));
  }
}

void NpyFile::read_bytes(std::size_t offset, void* out, std::size_t bytes) const {
  char* next = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to("be read");
    if (got == 0) {
      throw Error(ErrorKind::conflict, path_ + ": became shorter while it was read: read it again");
    }
    next += got;
    offset += static_cast<std::size_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

void NpyFile::read_floats(std::size_t first, std::span<float> out) const {
  if (type_ == ArrayType::float32) {
    read_bytes(data_offset_ + first * sizeof(float), out.data(), out.size_bytes());
    return;
  }
  if (type_ != ArrayType::float16) fail("holds int64 where float32 or float16 is wanted");
  std::array<Float16, 4096> block;
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t count = std::min(block.size(), out.size() - done);
    read_bytes(data_offset_ + (first + done) * sizeof(Float16), block.data(),
               count * sizeof(Float16));
    std::transform(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count),
                   out.begin() + static_cast<std::ptrdiff_t>(done),
                   [](Float16 value) { return to_float(value); });
    done += count;
  }
}

void NpyFile::read_int64s(std::size_t first, std::span<std::int64_t> out) const {
  if (type_ != ArrayType::int64) {
    fail(std::string("holds ") + name_of(type_) +
         " where int64 is wanted: convert it with .astype(numpy.int64)");
  }
  read_bytes(data_offset_ + first * sizeof(std::int64_t), out.data(), out.size_bytes());
}

void NpyFile::fail(const std::string& why) const { throw Error(path_ + ": " + why); }

void NpyFile::fail_to(const std::string& what) const {
  throw system_error(path_ + ": cannot " + what, errno);
}

std::string npy_header(ArrayType type, std::span<const std::size_t> shape) {
  static constexpr std::array<std::string_view, 3> kDescr = {"<f4", "<f2", "<i8"};
  std::string header = "{'descr': '" + std::string(kDescr[static_cast<std::size_t>(type)]) +
                       "', 'fortran_order': False, 'shape': (";
  for (const std::size_t extent : shape) header += std::to_string(extent) + ",";
  header += "), }";
  // The data begins on a multiple of 64 bytes; the padding ends in a newline.
  constexpr std::size_t kPreamble = 10;
  header.append(63 - (kPreamble + header.size()) % 64, ' ');
  header += '\n';
  std::string preamble(kMagic);
  preamble += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
               static_cast<char>(header.size() >> 8)};
  return preamble + header;
}

NpyWriter::NpyWriter(std::string path, ArrayType type, std::span<const std::size_t> shape)
    : file_(std::move(path)), type_(type), missing_(1) {
  for (const std::size_t extent : shape) missing_ *= extent;
  file_.write(npy_header(type, shape));
}

void NpyWriter::append(std::span<const float> values) {
  if (type_ == ArrayType::int64)
    throw Error(file_.path() + ": floats cannot go into an int64 array");
  missing_ -= values.size();
  if (type_ == ArrayType::float32) {
    file_.write(values.data(), values.size_bytes());
    return;
  }
  std::vector<Float16> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(), to_float16);
  file_.write(narrow.data(), narrow.size() * sizeof(Float16));
}

void NpyWriter::append(std::span<const std::int64_t> values) {
  if (type_ != ArrayType::int64)
    throw Error(file_.path() + ": integers cannot go into a float array");
  missing_ -= values.size();
  file_.write(values.data(), values.size_bytes());
}

void NpyWriter::commit() {
  if (missing_ != 0)
    throw Error(file_.path() + ": as many elements must be written as its shape has");
  file_.commit();
}

}  // namespace diml
