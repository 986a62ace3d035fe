#include "records.h"

#include <limits>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/label_words.h"
#include "base/sha256.h"
#include "diml/error.h"

namespace diml::gallery {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kChecksum = sizeof(std::uint64_t);
constexpr std::uint32_t kFiveParts = 0x80000000U;  // in the first size of an item
// Added to the length of a label: integer labels are never that low.
constexpr std::int64_t kWords = std::numeric_limits<std::int64_t>::min();

template <class Number>
void append_number(std::vector<std::byte>& record, Number number) {
  for (std::size_t b = 0; b < sizeof(Number); ++b) {
    record.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * b)));
  }
}

template <class Number>
Number number_at(const std::byte* bytes) {
  std::uint64_t number = 0;
  for (std::size_t b = 0; b < sizeof(Number); ++b) {
    number |= static_cast<std::uint64_t>(bytes[b]) << (8 * b);
  }
  return static_cast<Number>(number);
}

void append_bytes(std::vector<std::byte>& record, Bytes bytes) {
  record.insert(record.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> sealed(Bytes key, std::vector<std::byte> record) {
  const std::uint64_t checksum = checksum_of(key, Bytes(record).subspan(kChecksum));
  const std::array<std::byte, 8> bytes = number_record(checksum);
  std::copy(bytes.begin(), bytes.end(), record.begin());
  return record;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::uint64_t checksum_of(Bytes key, Bytes rest) {
  Sha256 sha;
  for (const Bytes part : {key, rest}) {
    sha.update({reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
  }
  return std::stoull(sha.hex().substr(0, 2 * kChecksum), nullptr, 16);
}

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::array<std::byte, 8> key_of(std::int64_t id) {
  std::array<std::byte, 8> key{};
  for (std::size_t b = 0; b < key.size(); ++b) {
    key[b] = static_cast<std::byte>(static_cast<std::uint64_t>(id) >> (56 - 8 * b));
  }
  return key;
}

std::int64_t id_of(Bytes key) {
  if (key.size() != sizeof(std::int64_t)) return -1;
  std::uint64_t id = 0;
  for (const std::byte byte : key) id = id << 8 | static_cast<std::uint64_t>(byte);
  return static_cast<std::int64_t>(id);
}

// LMDB's keys are short and paths are not.
std::string path_key(const std::string& path) {
  Sha256 sha;
  sha.update({reinterpret_cast<const std::uint8_t*>(path.data()), path.size()});
  return sha.hex();
}

std::uint64_t number_in(Bytes value) {
  return value.size() == sizeof(std::uint64_t) ? number_at<std::uint64_t>(value.data()) : 0;
}

std::array<std::byte, 8> number_record(std::uint64_t number) {
  std::array<std::byte, 8> record{};
  for (std::size_t b = 0; b < record.size(); ++b) {
    record[b] = static_cast<std::byte>(number >> (8 * b));
  }
  return record;
}

std::vector<std::byte> encode_numbers(std::span<const std::int64_t> numbers) {
  std::vector<std::byte> record;
  for (const std::int64_t number : numbers) append_number(record, number);
  return record;
}

std::vector<std::int64_t> decode_numbers(Bytes record) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at + sizeof(std::int64_t) <= record.size(); at += sizeof(std::int64_t)) {
    numbers.push_back(number_at<std::int64_t>(record.data() + at));
  }
  return numbers;
}

bool is_intact(Bytes key, Bytes record) {
  return record.size() >= kChecksum &&
         number_at<std::uint64_t>(record.data()) == checksum_of(key, record.subspan(kChecksum));
}

std::string text_of(const std::optional<SourceFile>& source) {
  if (!source) return "";
  return std::to_string(source->size) + " " + std::to_string(source->modified) + " " +
         source->sha256;
}

std::optional<SourceFile> source_in(std::string_view text) {
  SourceFile source;
  std::istringstream words{std::string(text)};
  if (!(words >> source.size >> source.modified >> source.sha256)) return std::nullopt;
  return source;
}

std::vector<std::byte> encode(Bytes key, const ItemRecord& item) {
  const std::array<Bytes, 5> parts = {item.cells, bytes_of(item.path), bytes_of(item.metadata),
                                      item.thumbnail, bytes_of(item.source)};
  std::vector<std::byte> record(kChecksum);
  for (const Bytes& part : parts) {
    const std::uint32_t mark = &part == parts.data() ? kFiveParts : 0;
    append_number(record, static_cast<std::uint32_t>(part.size()) | mark);
  }
  for (const Bytes part : parts) append_bytes(record, part);
  return sealed(key, std::move(record));
}

bool decode(Bytes record, ItemRecord& item) {
  const auto size_at = [&](std::size_t p) {
    return number_at<std::uint32_t>(record.data() + kChecksum + p * sizeof(std::uint32_t));
  };
  if (record.size() < kChecksum + sizeof(std::uint32_t)) return false;
  std::array<Bytes, 5> parts;
  const std::size_t count = (size_at(0) & kFiveParts) != 0 ? 5 : 4;
  std::size_t at = kChecksum + count * sizeof(std::uint32_t);
  if (record.size() < at) return false;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t size = size_at(p) & ~kFiveParts;
    if (size > record.size() - at) return false;
    parts[p] = record.subspan(at, size);
    at += size;
  }
  item = {parts[0], text_of(parts[1]), text_of(parts[2]), parts[3], text_of(parts[4])};
  return at == record.size();
}

std::vector<std::byte> encode(Bytes key, const GlobalRecord& global) {
  std::vector<std::byte> record(kChecksum);
  append_number(record, kWords + static_cast<std::int64_t>(global.label.size()));
  append_bytes(record, global.global);
  append_bytes(record, bytes_of(global.label));
  return sealed(key, std::move(record));
}

bool decode(Bytes record, std::size_t dim, GlobalRecord& global) {
  constexpr std::size_t kHead = kChecksum + sizeof(std::int64_t);
  const std::size_t bytes = dim * sizeof(float);
  if (record.size() < kHead + bytes) return false;
  const auto number = number_at<std::int64_t>(record.data() + kChecksum);
  global.global = record.subspan(kHead, bytes);
  const Bytes rest = record.subspan(kHead + bytes);
  if (number >= kWords + static_cast<std::int64_t>(kLongestLabel) + 1) {  // of format 1
    global.label = label_word(number);
    return rest.empty();
  }
  global.label = text_of(rest);
  return rest.size() == static_cast<std::size_t>(number - kWords);
}

std::vector<std::byte> encode(Bytes key, const Description& description) {
  const GridFormat& format = description.format;
  const Json json = {{"format", description.version},
                     {"cells_per_grid", format.cells_per_grid},
                     {"dim", format.dim},
                     {"type", name_of(format.type)},
                     {"embedding", format.embedding},
                     {"model", format.model},
                     {"birth", description.birth}};
  std::vector<std::byte> record(kChecksum);
  append_bytes(record, bytes_of(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return sealed(key, std::move(record));
}

Description decode_description(Bytes record, const std::string& folder) {
  const Json json = is_intact(bytes_of(kDescription), record)
                        ? Json::parse(text_of(record.subspan(kChecksum)), nullptr, false)
                        : Json();
  if (json.is_object() && json.value("format", 0) > kFormatVersion) {
    throw Error(ErrorKind::unsupported, folder + ": was made by a later diml, in format " +
                                            json.at("format").dump() + ", this one supports " +
                                            std::to_string(kFormatVersion) + ": update diml");
  }
  Description description;
  try {
    description.version = json.at("format").get<int>();
    description.format.cells_per_grid = json.at("cells_per_grid").get<std::size_t>();
    description.format.dim = json.at("dim").get<std::size_t>();
    description.format.type = cell_type_from(json.at("type").get<std::string>());
    description.format.embedding = json.at("embedding").get<std::map<std::string, std::string>>();
    description.format.model = json.at("model").get<std::string>();
    description.birth = json.at("birth").get<std::uint64_t>();
    check_grid_shape(description.format.cells_per_grid, description.format.dim);
  } catch (const std::exception&) {  // whatever it is, this is what to do
    throw Error(ErrorKind::damaged,
                folder +
                    ": its description is damaged: take a copy from a backup, or build it "
                    "again");
  }
  return description;
}

}  // namespace diml::gallery
