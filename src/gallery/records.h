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

// 1: labels are integers. 2: labels are words; records of both versions may be in one gallery.
constexpr int kFormatVersion = 2;

// Keys of the table `about`.
constexpr std::string_view kDescription = "gallery";
constexpr std::string_view kRevision = "revision";
constexpr std::string_view kNextId = "next_id";

Bytes bytes_of(std::string_view text);

std::array<std::byte, 8> key_of(std::int64_t id);
std::int64_t id_of(Bytes key);  // -1 if it is not one
std::string path_key(const std::string& path);

std::uint64_t number_in(Bytes value);
std::array<std::byte, 8> number_record(std::uint64_t number);

// A list of signed numbers: the changes of a revision. The first number is the first new id, the
// others are the removed ids, and ~id (below 0) of the updated ones.
std::vector<std::byte> encode_numbers(std::span<const std::int64_t> numbers);
std::vector<std::int64_t> decode_numbers(Bytes record);

// The first eight bytes of the SHA-256.
std::uint64_t checksum_of(Bytes key, Bytes rest);

// Each record starts with a checksum of its key and of the bytes that follow.
bool is_intact(Bytes key, Bytes record);

// An item: five sizes, then cells, path, metadata, thumbnail, source. The highest bit of the first
// size is set; records of format 1 have four sizes, no source, and no such bit.
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

// A global: the length of its label, dim floats, which may be unaligned, and the label. Records of
// format 1 have an integer label in the place of the length.
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
std::vector<std::byte> encode(Bytes key, const Description& description);
// Throws if it is damaged or of a later diml. folder: for the message.
Description decode_description(Bytes record, const std::string& folder);

}  // namespace diml::gallery
