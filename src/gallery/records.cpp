#include "records.h"

#include <limits>
#include <random>
#include <sstream>

#include "base/label_words.h"
#include "base/sha256.h"
#include "checksum.h"
#include "diml/error.h"
#include "lmdb_error.h"
#include "search/json_tree.h"

namespace diml::gallery {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kChecksum = sizeof(std::uint64_t);
// In the first size of an item.
constexpr std::uint32_t kFiveParts = 0x80000000U;
constexpr std::uint32_t kTwoChecksums = 0x40000000U;
constexpr std::size_t kFiveSizes = 5 * sizeof(std::uint32_t);
constexpr std::size_t kCells = kChecksum + kFiveSizes + kChecksum;  // where they begin, in format 3
// Added to the length of a label: integer labels are never that low.
constexpr std::int64_t kWords = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kQuickWords = kWords + (std::int64_t{1} << 32);

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

// A tree of JSON would need memory to be freed: see JsonTree.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::uint64_t slow_checksum(Bytes key, Bytes rest) {
  Sha256 sha;
  for (const Bytes part : {key, rest}) {
    sha.update({reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
  }
  return std::stoull(sha.hex().substr(0, 2 * kChecksum), nullptr, 16);
}

std::uint64_t quick_checksum(Bytes key, Bytes rest) { return checksum(rest, checksum(key)); }

void put_number(std::vector<std::byte>& record, std::size_t place, std::uint64_t number) {
  for (std::size_t b = 0; b < sizeof(number); ++b) {
    record[place + b] = static_cast<std::byte>(number >> (8 * b));
  }
}

// record: with room for the checksum.
std::vector<std::byte> sealed(Bytes key, std::vector<std::byte> record) {
  put_number(record, 0, quick_checksum(key, Bytes(record).subspan(kChecksum)));
  return record;
}

bool is_sealed(Bytes key, Bytes record) {
  return record.size() >= kChecksum &&
         stored_checksum(record) == quick_checksum(key, record.subspan(kChecksum));
}

// Of an item of format 3, without its cells.
std::uint64_t checksum_of_texts(Bytes key, Bytes record, std::size_t cells) {
  const std::uint64_t head = checksum(record.subspan(kChecksum, kCells - kChecksum), checksum(key));
  return checksum(record.subspan(kCells + cells), head);
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

std::vector<std::byte> encode_number(std::string_view name, std::uint64_t number) {
  std::vector<std::byte> record(kChecksum);
  append_number(record, number);
  return sealed(bytes_of(name), std::move(record));
}

std::optional<std::uint64_t> decode_number(std::string_view name, Bytes record) {
  if (record.size() == sizeof(std::uint64_t)) return number_at<std::uint64_t>(record.data());
  if (record.size() != kChecksum + sizeof(std::uint64_t)) return std::nullopt;
  if (!is_sealed(bytes_of(name), record)) return std::nullopt;
  return number_at<std::uint64_t>(record.data() + kChecksum);
}

std::vector<std::byte> encode_numbers(Bytes key, std::span<const std::int64_t> numbers) {
  std::vector<std::byte> record(kChecksum);
  for (const std::int64_t number : numbers) append_number(record, number);
  return sealed(key, std::move(record));
}

std::optional<std::vector<std::int64_t>> decode_numbers(Bytes key, Bytes record) {
  if (!is_sealed(key, record)) return std::nullopt;
  std::vector<std::int64_t> numbers;
  constexpr std::size_t kBytes = sizeof(std::int64_t);
  for (std::size_t at = kChecksum; at + kBytes <= record.size(); at += kBytes) {
    numbers.push_back(number_at<std::int64_t>(record.data() + at));
  }
  return numbers;
}

std::vector<std::byte> encode_path(Bytes key, std::int64_t id) {
  std::vector<std::byte> record(kChecksum);
  append_bytes(record, key_of(id));
  return sealed(key, std::move(record));
}

std::int64_t id_of_path(Bytes record) {
  return id_of(path_has_checksum(record) ? record.subspan(kChecksum) : record);
}

bool path_has_checksum(Bytes record) { return record.size() == 2 * kChecksum; }

bool is_intact_path(Bytes key, Bytes record) {
  return path_has_checksum(record) && is_sealed(key, record);
}

std::uint64_t stored_checksum(Bytes record) {
  return record.size() < kChecksum ? 0 : number_at<std::uint64_t>(record.data());
}

bool has_quick_checksum(Table table, Bytes record) {
  if (table == Table::items && record.size() >= kCells) {
    return (number_at<std::uint32_t>(record.data() + kChecksum) & kTwoChecksums) != 0;
  }
  if (table == Table::globals && record.size() >= 2 * kChecksum) {
    const auto number = number_at<std::int64_t>(record.data() + kChecksum);
    return number >= kQuickWords &&
           number <= kQuickWords + static_cast<std::int64_t>(kLongestLabel);
  }
  return false;
}

bool is_intact(Table table, Bytes key, Bytes record, Part part) {
  if (record.size() < kChecksum) return false;
  if (!has_quick_checksum(table, record)) {
    return stored_checksum(record) == slow_checksum(key, record.subspan(kChecksum));
  }
  if (table != Table::items) return is_sealed(key, record);
  ItemRecord item;
  if (!decode(record, item)) return false;
  const bool cells = number_at<std::uint64_t>(record.data() + kChecksum + kFiveSizes) ==
                     quick_checksum(key, item.cells);
  if (part == Part::cells) return cells;
  const bool texts = stored_checksum(record) == checksum_of_texts(key, record, item.cells.size());
  return texts && (cells || part == Part::texts);
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
    const std::uint32_t marks = &part == parts.data() ? kFiveParts | kTwoChecksums : 0;
    append_number(record, static_cast<std::uint32_t>(part.size()) | marks);
  }
  append_number(record, quick_checksum(key, item.cells));
  for (const Bytes& part : parts) append_bytes(record, part);
  put_number(record, 0, checksum_of_texts(key, record, item.cells.size()));
  return record;
}

bool decode(Bytes record, ItemRecord& item) {
  const auto size_at = [&](std::size_t p) {
    return number_at<std::uint32_t>(record.data() + kChecksum + p * sizeof(std::uint32_t));
  };
  if (record.size() < kChecksum + sizeof(std::uint32_t)) return false;
  std::array<Bytes, 5> parts;
  const std::size_t count = (size_at(0) & kFiveParts) != 0 ? 5 : 4;
  std::size_t at = kChecksum + count * sizeof(std::uint32_t);
  if ((size_at(0) & kTwoChecksums) != 0) at += kChecksum;
  if (record.size() < at) return false;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t size = size_at(p) & ~(kFiveParts | kTwoChecksums);
    if (size > record.size() - at) return false;
    parts[p] = record.subspan(at, size);
    at += size;
  }
  item = {parts[0], text_of(parts[1]), text_of(parts[2]), parts[3], text_of(parts[4])};
  return at == record.size();
}

std::vector<std::byte> encode(Bytes key, const GlobalRecord& global) {
  std::vector<std::byte> record(kChecksum);
  append_number(record, kQuickWords + static_cast<std::int64_t>(global.label.size()));
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
  const std::int64_t words = has_quick_checksum(Table::globals, record) ? kQuickWords : kWords;
  if (number > words + static_cast<std::int64_t>(kLongestLabel)) {  // of format 1
    global.label = label_word(number);
    return rest.empty();
  }
  global.label = text_of(rest);
  return rest.size() == static_cast<std::size_t>(number - words);
}

std::uint64_t new_birth() {
  std::random_device device;
  // 53 bits: other programs read JSON's numbers as doubles.
  return (static_cast<std::uint64_t>(device()) << 21) ^ device();
}

std::vector<std::byte> encode(Bytes key, const Description& description) {
  const GridFormat& format = description.format;
  std::string embedding;
  for (const auto& [name, value] : format.embedding) {
    embedding += (embedding.empty() ? "" : ",") + quoted(name) + ":" + quoted(value);
  }
  const std::string json = "{\"birth\":" + std::to_string(description.birth) +
                           ",\"cells_per_grid\":" + std::to_string(format.cells_per_grid) +
                           ",\"dim\":" + std::to_string(format.dim) + ",\"embedding\":{" +
                           embedding + "},\"format\":" + std::to_string(description.version) +
                           ",\"model\":" + quoted(format.model) +
                           ",\"type\":" + quoted(name_of(format.type)) + "}";
  std::vector<std::byte> record(kChecksum);
  append_bytes(record, bytes_of(json));
  // An older diml must understand enough of it to say that it is older.
  put_number(record, 0, slow_checksum(key, Bytes(record).subspan(kChecksum)));
  return record;
}

Description decode_description(Bytes record, const std::string& folder) {
  const JsonTree tree = is_intact(Table::about, bytes_of(kDescription), record)
                            ? JsonTree::parse_or_discard(text_of(record.subspan(kChecksum)))
                            : JsonTree();
  const Json& json = tree.root();
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
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // whatever else it is, this is what to do
    throw damaged_error(folder + ": its description is damaged");
  }
  return description;
}

}  // namespace diml::gallery
