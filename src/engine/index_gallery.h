#pragma once

#include <string>

#include "diml/grid_store.h"
#include "diml/progress.h"

namespace diml {

// Builds the approximate index of a gallery, or builds it again, and compares it with exact search.
// kind: "hnsw" and "ivf-pq" lie beside a gallery's folder, "pgvector" within its database. built:
// in vectors; judged: in depths.
StoreIndex index_gallery(GridStore& gallery, const std::string& kind, int threads,
                         const Progress& built = {}, const Progress& judged = {});

}  // namespace diml
