#include "records.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "diml/error.h"

namespace diml::gallery {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kChecksum = sizeof(std::uint64_t);

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

// The first eight bytes of the SHA-256.
std::uint64_t checksum_of(Bytes key, Bytes rest) {
  Sha256 sha;
  for (const Bytes part : {key, rest}) {
    sha.update({reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
  }
  return std::stoull(sha.hex().substr(0, 2 * kChecksum), nullptr, 16);
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

std::vector<std::byte> encode(Bytes key, const ItemRecord& item) {
  const Bytes path = bytes_of(item.path);
  const Bytes metadata = bytes_of(item.metadata);
  std::vector<std::byte> record(kChecksum);
  for (const Bytes part : {item.cells, path, metadata, item.thumbnail}) {
    append_number(record, static_cast<std::uint32_t>(part.size()));
  }
  for (const Bytes part : {item.cells, path, metadata, item.thumbnail}) append_bytes(record, part);
  return sealed(key, std::move(record));
}

bool decode(Bytes record, ItemRecord& item) {
  constexpr std::size_t kParts = 4;
  constexpr std::size_t kHead = kChecksum + kParts * sizeof(std::uint32_t);
  if (record.size() < kHead) return false;
  std::array<Bytes, kParts> parts;
  std::size_t at = kHead;
  for (std::size_t p = 0; p < kParts; ++p) {
    const std::size_t size =
        number_at<std::uint32_t>(record.data() + kChecksum + p * sizeof(std::uint32_t));
    if (size > record.size() - at) return false;
    parts[p] = record.subspan(at, size);
    at += size;
  }
  item = {parts[0], text_of(parts[1]), text_of(parts[2]), parts[3]};
  return at == record.size();
}

std::vector<std::byte> encode(Bytes key, const GlobalRecord& global) {
  std::vector<std::byte> record(kChecksum);
  append_number(record, global.label);
  append_bytes(record, global.global);
  return sealed(key, std::move(record));
}

bool decode(Bytes record, std::size_t dim, GlobalRecord& global) {
  constexpr std::size_t kHead = kChecksum + sizeof(std::int64_t);
  if (record.size() != kHead + dim * sizeof(float)) return false;
  global = {number_at<std::int64_t>(record.data() + kChecksum), record.subspan(kHead)};
  return true;
}

std::vector<std::byte> encode(Bytes key, const Description& description) {
  const GridFormat& format = description.format;
  const Json json = {{"format", kFormatVersion},
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
                                            json.at("format").dump() + " where this one knows " +
                                            std::to_string(kFormatVersion) + ": update diml");
  }
  Description description;
  try {
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
                    ": what it says about itself is damaged: take a copy from a backup, or "
                    "build it anew");
  }
  return description;
}

std::string checked_metadata(const std::string& text, const std::string& path) {
  if (text.empty()) return "{}";
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw Error(path + ": its metadata is no JSON object: {\"name\": value} is one");
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace diml::gallery
