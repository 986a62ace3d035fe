#pragma once

#include <cstddef>
#include <vector>

namespace diml {

// All eigenvalues of a small symmetric matrix, falling, and their vectors.
struct Eigenpairs {
  std::vector<double> values;   // [size]
  std::vector<double> vectors;  // [size, size], one a row, orthonormal
};

// By Jacobi's rotations. matrix: [size, size].
Eigenpairs eigenpairs_of(std::vector<double> matrix, std::size_t size);

}  // namespace diml
