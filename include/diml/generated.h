#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diml/grid.h"
#include "diml/progress.h"

namespace diml {

// Grids without images, for tests, benchmarks and the first demo: creatures made of parts. Classes
// share the kinds of parts and differ in how each looks; images of a class differ in where the
// parts are, in the background and in noise. The same parameters give the same grids on every
// machine and any number of threads.
struct GeneratedParams {
  std::size_t size = 1000;
  std::size_t classes = 50;
  std::size_t grid = 4;  // cells per side
  std::size_t dim = 128;
  std::uint64_t seed = 0;
  CellType type = CellType::float32;
  // Length of a direction that all cells share. 0: similarities as of a trained network.
  // 0.7: all cells lie in a cone, with a mean cosine of 0.45; scaling factors are small there, and
  // a rule that stops Sinkhorn by their change stops early.
  double common = 0.0;
};

struct GeneratedGrids {
  GridSet grids;
  std::vector<std::int64_t> labels;  // [size]
};

GeneratedGrids generate_grids(const GeneratedParams& params, const Progress& progress = {});

}  // namespace diml
