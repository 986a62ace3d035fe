#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diml/candidates.h"
#include "diml/progress.h"

namespace diml {

struct KMeansParams {
  std::size_t clusters = 0;
  int iterations = 20;  // at most; stops when no vector changes its cluster
  std::uint64_t seed = 0;
  int threads = 0;
};

// Lloyd's algorithm from randomly drawn vectors. Returns the cluster of each vector, [count]; the
// same for any number of threads. A cluster that loses all its vectors takes the one that lies
// farthest from its own centre.
std::vector<std::int64_t> kmeans(VectorsView vectors, const KMeansParams& params,
                                 const Progress& progress = {});

}  // namespace diml
