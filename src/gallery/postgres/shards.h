#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connection.h"
#include "postgres_store.h"

namespace diml::postgres {

// A part of a gallery on a server of its own.
struct Shard {
  std::string part;  // the foreign table, where the gallery is
  Address address;   // of its server, as the gallery's server reaches it
};

// For the owner of the gallery: the login is nobody else's to know.
std::vector<Shard> shards_of(Connection& connection, const GalleryRow& gallery);

// What its rows take, wherever they are, and the index of vectors: none unless it is whole
// everywhere.
struct Sizes {
  std::uint64_t rows = 0;
  std::optional<std::uint64_t> index;
};
Sizes sizes_of(Connection& connection, const GalleryRow& gallery);

// About the nearest of each shard, and of those the nearest: all shards are asked at once, and each
// sorts and limits by itself. Parameters: $1 the gallery, $2 the query, $3 how many, those of
// `conditions`, and from `place` on the bound of the ids and those that are leaving. schema: of
// pgvector.
std::string nearest_of_shards_sql(const GalleryRow& gallery, const std::string& schema,
                                  const std::string& columns, const std::string& conditions,
                                  std::size_t place);

// The table on the server of a shard.
std::string shard_table(const GalleryRow& gallery);

}  // namespace diml::postgres
