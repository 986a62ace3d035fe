#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "diml/grid.h"

namespace diml::test {

// `cells` random cells of `dim`, with some directions in common so that plans have structure.
inline std::vector<float> random_cells(std::size_t cells, std::size_t dim, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::mt19937_64 shared(dim);  // the same parts for every grid of one dimension
  std::normal_distribution<float> normal;
  constexpr std::size_t kParts = 4;
  std::vector<float> parts(kParts * dim);
  for (float& value : parts) value = normal(shared);
  std::vector<float> values(cells * dim);
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t part = random() % kParts;
    const float strength = 0.3f + 0.2f * std::abs(normal(random));
    for (std::size_t d = 0; d < dim; ++d) {
      values[i * dim + d] = strength * parts[part * dim + d] + 0.6f * normal(random);
    }
  }
  return values;
}

inline EmbeddingGrid random_grid(std::size_t cells, std::size_t dim, std::uint64_t seed,
                                 CellType type = CellType::float32) {
  return EmbeddingGrid(random_cells(cells, dim, seed), dim, {}, type);
}

inline GridSet random_set(std::size_t size, std::size_t cells, std::size_t dim, std::uint64_t seed,
                          CellType type = CellType::float32) {
  GridSet set(size, cells, dim, type);
  for (std::size_t i = 0; i < size; ++i) set.set(i, random_cells(cells, dim, seed * 1000003 + i));
  return set;
}

}  // namespace diml::test
