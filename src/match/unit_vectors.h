#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

// Parts of the one rule of normalisation, GridSet::set().
namespace diml {

// Whether the rule surely leaves a vector as it is. A quick look: it sums in another order than the
// rule does, and is false for what lies near its limit.
inline bool is_surely_unit(std::span<const float> vector) {
  constexpr std::size_t kAtOnce = 8;
  constexpr double kLimit = 2.99e-7;  // of the square; the rule's is 1.5e-7 of the length
  std::array<double, kAtOnce> sums{};
  const std::size_t whole = vector.size() / kAtOnce * kAtOnce;
  for (std::size_t d = 0; d < whole; d += kAtOnce) {
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      const double value = vector[d + k];
      sums[k] += value * value;
    }
  }
  double square = 0.0;
  for (std::size_t d = whole; d < vector.size(); ++d) {
    square += static_cast<double>(vector[d]) * vector[d];
  }
  for (const double sum : sums) square += sum;
  return std::abs(square - 1.0) < kLimit;
}

// The mean of cells, [cells.size() / dim, dim]: what stands for a global vector that is not given.
inline std::vector<float> mean_of_cells(std::span<const float> cells, std::size_t dim) {
  std::vector<double> sums(dim);
  for (std::size_t first = 0; first < cells.size(); first += dim) {
    for (std::size_t d = 0; d < dim; ++d) sums[d] += cells[first + d];
  }
  const auto count = static_cast<double>(cells.size() / dim);
  std::vector<float> mean(dim);
  for (std::size_t d = 0; d < dim; ++d) mean[d] = static_cast<float>(sums[d] / count);
  return mean;
}

}  // namespace diml
