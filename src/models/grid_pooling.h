#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "diml/embedding.h"

namespace diml {

// Both rules work on rows and columns separately, so each is a pair of small matrices:
// cells = rows * map * columns^T.

// [grid, size]: the weight of each place of an axis in each cell of the grid. Rows sum to 1.
std::vector<float> pooling_matrix(std::size_t size, std::size_t grid, PoolingRule rule);

// map: [height, width, channels]; cells: [grid * grid, channels], row-major.
void pool_map(std::span<const float> map, std::size_t height, std::size_t width,
              std::size_t channels, std::size_t grid, PoolingRule rule, std::span<float> cells);

}  // namespace diml
