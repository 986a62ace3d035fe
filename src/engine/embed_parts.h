#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diml/embedder.h"
#include "diml/grid.h"
#include "explain/part_truth.h"

namespace diml {

// Images that are in some pair of one class, as grids, with the parts that they show.
struct PartGrids {
  GridSet grids;
  GridShape shape;
  std::vector<std::int64_t> labels;
  std::vector<std::vector<PartCell>> parts;
  std::vector<ImagePair> pairs;  // indices into these
};

struct PartPairsParams {
  std::size_t pairs = 2000;
  std::uint64_t seed = 0;
};

// Only images that show parts are drawn, and only those in some pair are embedded.
PartGrids embed_parts(Embedder& embedder, const Dataset& data, const PartPairsParams& params,
                      const Progress& progress = {});

}  // namespace diml
