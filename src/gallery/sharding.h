#pragma once

#include <span>
#include <string>

namespace diml::gallery {

// Lays an empty gallery in PostgreSQL over several databases: from then on its rows lie there, by
// hash of their ids. databases: postgres://USER@HOST:PORT/DATABASE, at least two. Throws, and
// changes nothing where the gallery is, where it cannot.
void shard(const std::string& gallery, std::span<const std::string> databases);

}  // namespace diml::gallery
