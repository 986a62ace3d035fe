#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "diml/progress.h"

namespace diml {

// The sum of x x^T over the directions x of many vectors, about the origin: the lengths of the
// vectors do not count, zero vectors add nothing. Bit for bit the same for any number of threads
// and any division of the vectors into calls.
class SecondMoment {
 public:
  explicit SecondMoment(std::size_t dim, int threads = 0);

  // vectors: [count, dim].
  void add(std::span<const float> vectors);

  std::size_t dim() const { return dim_; }
  std::size_t count() const { return count_; }  // of vectors, zero ones too

  // The matrix as the solver walks through it: [panels, rows, kPanel], where value (i, j) stands in
  // column j % kPanel of panel j / kPanel; rows and columns are filled up with zeros to a multiple
  // of kPanel.
  static constexpr std::size_t kPanel = 64;
  std::vector<double> panels() const;

 private:
  // Vectors that are summed in float32 before they are added to the sums in double: more would cost
  // accuracy, fewer would cost time.
  static constexpr std::size_t kBlock = 256;

  void add_block(std::vector<double>& tiles) const;

  std::size_t dim_;
  std::size_t panels_;
  int threads_;
  std::size_t count_ = 0;
  std::size_t waiting_ = 0;    // vectors in the block
  std::vector<float> block_;   // [panels, kBlock, kPanel], zero where no vector waits
  std::vector<double> tiles_;  // [panels (panels + 1) / 2, kPanel, kPanel], the upper half by rows
};

struct PrincipalParams {
  std::size_t count = 128;         // of directions
  double tolerance = 1e-9;         // of |A v - lambda v|, as a part of the largest lambda
  std::size_t most_steps = 1'000;  // products with the matrix
  int threads = 0;
};

// Directions along which vectors vary most about the origin.
struct PrincipalDirections {
  std::size_t dim = 0;
  // [count, dim], orthonormal, the strongest first. The largest component of each is positive, so
  // that the sign is deterministic.
  std::vector<float> rows;
  std::vector<double> shares;  // of the second moment, along each
  double kept = 0.0;           // their sum: no other `count` directions keep more
  std::size_t steps = 0;
  bool converged = false;

  std::size_t count() const { return shares.size(); }
};

// By subspace iteration in double. Where the vectors span fewer dimensions than requested, the last
// rows are arbitrary directions orthogonal to all of them. The progress is that of the error, from
// the first check to the tolerance, on a logarithmic scale: the number of steps is not known.
// Throws where all vectors are zero, and where count is not 1 to dim.
PrincipalDirections principal_directions(const SecondMoment& moment,
                                         const PrincipalParams& params = {},
                                         const Progress& progress = {});

}  // namespace diml
