#include "symmetric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace diml {
namespace {

struct Rotation {
  double cosine;
  double sine;
};

// Rotates two rows of `size` numbers.
void turn(Rotation by, double* x, double* y, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    const double a = x[k];
    const double b = y[k];
    x[k] = by.cosine * a - by.sine * b;
    y[k] = by.sine * a + by.cosine * b;
  }
}

// The smaller of the two angles that bring the value between two axes to zero: the larger one would
// exchange them, and the sweeps would not converge.
Rotation that_clears(double first, double between, double second) {
  const double ratio = (second - first) / (2.0 * between);
  const double tangent =
      (ratio < 0.0 ? -1.0 : 1.0) / (std::abs(ratio) + std::sqrt(1.0 + ratio * ratio));
  const double cosine = 1.0 / std::sqrt(1.0 + tangent * tangent);
  return {cosine, tangent * cosine};
}

}  // namespace

Eigenpairs eigenpairs_of(std::vector<double> matrix, std::size_t size) {
  constexpr int kMostSweeps = 60;  // ten suffice in practice: convergence is quadratic at the end
  double largest = 0.0;
  for (const double value : matrix) largest = std::max(largest, std::abs(value));
  const double negligible = largest * std::numeric_limits<double>::epsilon() * 0.01;
  std::vector<double> axes(size * size, 0.0);
  for (std::size_t i = 0; i < size; ++i) axes[i * size + i] = 1.0;
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (std::size_t i = 0; i + 1 < size; ++i) {
      for (std::size_t j = i + 1; j < size; ++j) {
        const double first = matrix[i * size + i];
        const double between = matrix[i * size + j];
        const double second = matrix[j * size + j];
        if (std::abs(between) <= negligible) continue;
        turned = true;
        const Rotation rotation = that_clears(first, between, second);
        double* row_i = &matrix[i * size];
        double* row_j = &matrix[j * size];
        turn(rotation, row_i, row_j, size);
        // Rotates the columns as the rows; the four values where they cross were rotated once and
        // need the second rotation.
        const double tangent = rotation.sine / rotation.cosine;
        row_i[i] = first - tangent * between;
        row_j[j] = second + tangent * between;
        row_i[j] = row_j[i] = 0.0;
        for (std::size_t k = 0; k < size; ++k) {
          matrix[k * size + i] = row_i[k];
          matrix[k * size + j] = row_j[k];
        }
        turn(rotation, &axes[i * size], &axes[j * size], size);
      }
    }
  }
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return matrix[a * size + a] > matrix[b * size + b];
  });
  Eigenpairs pairs;
  pairs.vectors.reserve(size * size);
  for (const std::size_t place : order) {
    pairs.values.push_back(matrix[place * size + place]);
    const double* axis = &axes[place * size];
    pairs.vectors.insert(pairs.vectors.end(), axis, axis + size);
  }
  return pairs;
}

}  // namespace diml
