#pragma once

#include <string>
#include <vector>

#include "connection.h"
#include "postgres_store.h"

namespace diml::postgres {

// A part of a gallery on a server of its own.
struct Shard {
  std::string part;  // the foreign table, where the gallery is
  Address address;   // of its server
};

std::vector<Shard> shards_of(Connection& connection, const GalleryRow& gallery);

std::uint64_t bytes_of_shards(Connection& connection, const GalleryRow& gallery);

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
