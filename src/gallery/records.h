#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/grid_store.h"
#include "environment.h"

namespace diml::gallery {

// 1: labels are integers. 2: labels are words. 3: quick checksums, of the cells apart from the
// rest; numbers, changes and paths have one, too. Items, globals and paths of all versions may be
// in one gallery; numbers and changes are of the version that the description names.
constexpr int kFormatVersion = 3;
constexpr int kSealedNumbers = 3;  // the first version with checksums of numbers and changes

// Keys of the table `about`.
constexpr std::string_view kDescription = "gallery";
constexpr std::string_view kRevision = "revision";
constexpr std::string_view kNextId = "next_id";

Bytes bytes_of(std::string_view text);

std::array<std::byte, 8> key_of(std::int64_t id);
std::int64_t id_of(Bytes key);  // -1 if it is not one
std::string path_key(const std::string& path);

// A number of the table `about`; nothing where it is damaged.
std::vector<std::byte> encode_number(std::string_view name, std::uint64_t number);
std::optional<std::uint64_t> decode_number(std::string_view name, Bytes record);

// A list of signed numbers: the changes of a revision. The first number is the first new id, the
// others are the removed ids, and ~id (below 0) of the updated ones. Nothing where it is damaged.
std::vector<std::byte> encode_numbers(Bytes key, std::span<const std::int64_t> numbers);
std::optional<std::vector<std::int64_t>> decode_numbers(Bytes key, Bytes record);

// The id that a path has. Records of formats 1 and 2 have no checksum.
std::vector<std::byte> encode_path(Bytes key, std::int64_t id);
std::int64_t id_of_path(Bytes record);  // not compared with the checksum
bool path_has_checksum(Bytes record);
bool is_intact_path(Bytes key, Bytes record);

// Each other record starts with a checksum of its key and of the bytes that follow: the first bytes
// of a SHA-256 in the description and in formats 1 and 2. texts: all of an item but its cells.
enum class Part : std::uint8_t { all, texts, cells };
bool is_intact(Table table, Bytes key, Bytes record, Part part = Part::all);
bool has_quick_checksum(Table table, Bytes record);
std::uint64_t stored_checksum(Bytes record);

// An item: five sizes, the checksum of its cells, then cells, path, metadata, thumbnail, source.
// The two highest bits of the first size are set; records of format 2 have the first of them and no
// such checksum, those of format 1 neither, and no source.
struct ItemRecord {
  Bytes cells;
  std::string_view path;
  std::string_view metadata;
  Bytes thumbnail;
  std::string_view source{};  // text_of() a SourceFile, or nothing
};
std::string text_of(const std::optional<SourceFile>& source);
std::optional<SourceFile> source_in(std::string_view text);
std::vector<std::byte> encode(Bytes key, const ItemRecord& item);
// False if the sizes do not add up.
bool decode(Bytes record, ItemRecord& item);

// A global: the length of its label, dim floats, which may be unaligned, and the label. A number is
// added to the length, by which the formats differ; records of format 1 have an integer label
// there.
struct GlobalRecord {
  std::string label;
  Bytes global;
};
std::vector<std::byte> encode(Bytes key, const GlobalRecord& global);
bool decode(Bytes record, std::size_t dim, GlobalRecord& global);

// The gallery's own properties.
struct Description {
  GridFormat format;
  std::uint64_t birth = 0;
  int version = kFormatVersion;
};
std::uint64_t new_birth();
std::vector<std::byte> encode(Bytes key, const Description& description);
// Throws if it is damaged or of a later diml. folder: for the message.
Description decode_description(Bytes record, const std::string& folder);

}  // namespace diml::gallery
