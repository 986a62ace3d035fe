#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "connection.h"
#include "diml/grid_store.h"

namespace diml::postgres {

// The checksums of an item's row, by the routine of the records of galleries on disk.
std::int64_t words_checksum(const Item& item);
std::int64_t vector_checksum(std::int64_t id, Bytes label, std::span<const float> global);
std::int64_t checksum_of(std::int64_t id, Bytes part);  // of the cells, or of the thumbnail

// The metadata as jsonb has it: see migrations/0001_galleries.sql. Numbers are written so that
// equal ones are equal as PostgreSQL's numeric, and unequal ones are not.
std::string searchable_metadata(const std::string& metadata);

// A text with U+0000 and U+0001 as jsonb has them. The order of texts stays, byte by byte.
std::string searchable_text(const std::string& text);

// A number as numeric: exact where it is an integer of 64 bits.
std::string numeric_text(long double number);

// SHA-256 as bytes: the key by which a path is found.
std::string path_digest(const std::string& path);

// Columns of diml.items, in this order, and what is read of them from `first` on. False, or
// nothing, where they are not what was written.
constexpr const char* kWordColumns =
    "id, path, label, metadata_text, source_size, source_modified, source_sha256, words_checksum";
constexpr std::size_t kWordCount = 8;
std::optional<Item> item_in(const Result& rows, std::size_t row, std::size_t first = 0);

constexpr const char* kVectorColumns = "id, label, global, vector_checksum";
constexpr std::size_t kVectorCount = 4;
bool read_vector(const Result& rows, std::size_t row, std::span<float> into, std::size_t first = 0);

// The bytes of one column, and their checksum in the next one.
bool is_intact(const Result& rows, std::size_t row, std::int64_t id, std::size_t first);

}  // namespace diml::postgres
