#pragma once

#include <cstdint>
#include <string>

#include "connection.h"
#include "diml/grid_store.h"

namespace diml::postgres {

// The checksums of an item's row, by the routine of the records of galleries on disk.
std::int64_t words_checksum(const Item& item);
std::int64_t grid_checksum(std::int64_t id, std::span<const float> global, Bytes cells,
                           Bytes thumbnail);

// The metadata as jsonb has it: see migrations/0001_galleries.sql. Numbers are written so that
// equal ones are equal as PostgreSQL's numeric, and unequal ones are not.
std::string searchable_metadata(const std::string& metadata);

// A text with U+0000 and U+0001 as jsonb has them. The order of texts stays, byte by byte.
std::string searchable_text(const std::string& text);

// A number as numeric: exact where it is an integer of 64 bits.
std::string numeric_text(long double number);

// SHA-256 as bytes: the key by which a path is found.
std::string path_digest(const std::string& path);

// The columns of an item's words, in this order, from `first` on.
constexpr const char* kWordColumns =
    "id, path, label, metadata_text, source_size, source_modified, source_sha256";
Item item_in(const Result& result, std::size_t row, std::size_t first = 0);

}  // namespace diml::postgres
