#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "diml/match.h"

namespace diml::test {

// Random smooth features of the place in the image: neighbouring cells are similar, and two images
// of one scene, one of them moved by an affine map, have the same features in places that
// correspond. `repeats` is how often the scene nearly repeats itself across the image.
inline EmbeddingGrid placed_grid(GridShape shape, std::size_t dim, const AffineMap& map,
                                 std::uint64_t seed, double noise = 0.3, double repeats = 2.0,
                                 CellType type = CellType::float32) {
  std::mt19937_64 scene(dim);  // the same for every grid of one dimension
  std::mt19937_64 own(seed);
  std::normal_distribution<double> normal;
  std::vector<double> fx(dim);
  std::vector<double> fy(dim);
  std::vector<double> phase(dim);
  for (std::size_t d = 0; d < dim; ++d) {
    fx[d] = repeats * normal(scene);
    fy[d] = repeats * normal(scene);
    phase[d] = 6.2831853 * normal(scene);
  }
  const auto longer = static_cast<double>(std::max(shape.rows, shape.cols));
  std::vector<float> cells;
  for (std::size_t k = 0; k < shape.count(); ++k) {
    const double col = static_cast<double>(k % shape.cols) + 0.5;
    const double row = static_cast<double>(k / shape.cols) + 0.5;
    const double x = (col - 0.5 * static_cast<double>(shape.cols)) / longer;
    const double y = (row - 0.5 * static_cast<double>(shape.rows)) / longer;
    const double u = map[0] * x + map[1] * y + map[2];
    const double v = map[3] * x + map[4] * y + map[5];
    for (std::size_t d = 0; d < dim; ++d) {
      const double value = 0.5 + std::sin(fx[d] * u + fy[d] * v + phase[d]) + noise * normal(own);
      cells.push_back(static_cast<float>(value));
    }
  }
  return EmbeddingGrid(cells, dim, {}, type);
}

}  // namespace diml::test
