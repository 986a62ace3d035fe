#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/grid_store.h"
#include "environment.h"

namespace diml::gallery {

constexpr int kFormatVersion = 1;

// Keys of the table `about`.
constexpr std::string_view kDescription = "gallery";
constexpr std::string_view kRevision = "revision";
constexpr std::string_view kNextId = "next_id";

Bytes bytes_of(std::string_view text);

std::array<std::byte, 8> key_of(std::int64_t id);
std::int64_t id_of(Bytes key);  // -1 where it is none
std::string path_key(const std::string& path);

std::uint64_t number_in(Bytes value);
std::array<std::byte, 8> number_record(std::uint64_t number);

// Signed numbers in a row: what a revision changed. The first is the id that came next before it,
// the others are the ids that it removed.
std::vector<std::byte> encode_numbers(std::span<const std::int64_t> numbers);
std::vector<std::int64_t> decode_numbers(Bytes record);

// Each record begins with a checksum of its key and of what follows.
bool is_intact(Bytes key, Bytes record);

// An item: four sizes, then cells, path, metadata, thumbnail.
struct ItemRecord {
  Bytes cells;
  std::string_view path;
  std::string_view metadata;
  Bytes thumbnail;
};
std::vector<std::byte> encode(Bytes key, const ItemRecord& item);
// False where the sizes do not add up.
bool decode(Bytes record, ItemRecord& item);

// A global: its label, then dim floats. They may lie at any address.
struct GlobalRecord {
  std::int64_t label = -1;
  Bytes global;
};
std::vector<std::byte> encode(Bytes key, const GlobalRecord& global);
bool decode(Bytes record, std::size_t dim, GlobalRecord& global);

// What a gallery says about itself.
struct Description {
  GridFormat format;
  std::uint64_t birth = 0;
};
std::vector<std::byte> encode(Bytes key, const Description& description);
// Throws where it is damaged or of a later diml. folder: for the message.
Description decode_description(Bytes record, const std::string& folder);

// A JSON object in one line; throws where the text is something else.
std::string checked_metadata(const std::string& text, const std::string& path);

}  // namespace diml::gallery
