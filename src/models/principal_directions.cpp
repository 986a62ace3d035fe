#include "models/principal_directions.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/threads.h"
#include "diml/error.h"
#include "symmetric.h"

namespace diml {
namespace {

constexpr std::size_t kPanel = SecondMoment::kPanel;
// More directions than requested: an iteration shrinks the error by the ratio of the first
// eigenvalue left out to the last one requested, which would be nearly 1.
constexpr std::size_t kMostSpare = 128;
constexpr std::size_t kGroup = 16;  // rows that are projected out of all later rows together
constexpr double kVanished = 1e-10;
// Products between two orthonormalisations: with more, the strongest direction would dominate.
constexpr std::size_t kProducts = 2;

double dot(const double* x, const double* y, std::size_t size) {
  // As many sums as a compiler can keep in vectors: it must not reorder one sum.
  double sums[8] = {};
  for (std::size_t k = 0; k < size; k += 8) {  // sizes are multiples of kPanel
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += x[k + lane] * y[k + lane];
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

void take_out(const double* direction, double* row, std::size_t size) {
  const double along = dot(direction, row, size);
  for (std::size_t k = 0; k < size; ++k) row[k] -= along * direction[k];
}

// Returns the old length.
double normalise(double* row, std::size_t size) {
  const double length = std::sqrt(dot(row, row, size));
  if (length == 0.0) return 0.0;
  const double scale = 1.0 / length;
  for (std::size_t k = 0; k < size; ++k) row[k] *= scale;
  return length;
}

// Directions that converge to the strongest ones of a symmetric matrix.
class Subspace {
 public:
  Subspace(const SecondMoment& moment, std::size_t count, int threads)
      : dim_(moment.dim()),
        width_((dim_ + kPanel - 1) / kPanel * kPanel),
        count_(count),
        threads_(threads),
        matrix_(moment.panels()),
        rows_(count * width_),
        products_(count * width_),
        random_(0) {
    for (std::size_t r = 0; r < count_; ++r) refill(r);
    orthonormalise();
  }

  double trace() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < dim_; ++i) {
      sum += matrix_[(i / kPanel * width_ + i) * kPanel + i % kPanel];
    }
    return sum;
  }

  void step() {
    for (std::size_t k = 0; k < kProducts; ++k) {
      multiply();
      rows_.swap(products_);
      // Without this, the lengths would grow or shrink without limit.
      for (std::size_t r = 0; r < count_; ++r) normalise(row(r), width_);
    }
    orthonormalise();
  }

  // Rotates the rows, within the space that they span, to its principal directions; returns the
  // second moments along them.
  std::vector<double> turn_to_axes() {
    multiply();
    std::vector<double> within(count_ * count_);
    parallel_for(count_, 1, threads_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        for (std::size_t s = r; s < count_; ++s) {
          within[r * count_ + s] = dot(row(r), product(s), width_);
        }
      }
    });
    for (std::size_t r = 0; r < count_; ++r) {
      for (std::size_t s = 0; s < r; ++s) within[r * count_ + s] = within[s * count_ + r];
    }
    const Eigenpairs pairs = eigenpairs_of(std::move(within), count_);
    rows_ = turned(rows_, pairs.vectors);
    products_ = turned(products_, pairs.vectors);
    return pairs.values;
  }

  // After turn_to_axes(): the largest |A v - lambda v| of the first rows.
  double worst(const std::vector<double>& values, std::size_t first) {
    double most = 0.0;
    for (std::size_t r = 0; r < first; ++r) {
      double square = 0.0;
      for (std::size_t k = 0; k < width_; ++k) {
        const double off = product(r)[k] - values[r] * row(r)[k];
        square += off * off;
      }
      most = std::max(most, std::sqrt(square));
    }
    return most;
  }

  const double* direction(std::size_t r) const { return &rows_[r * width_]; }

 private:
  double* row(std::size_t r) { return &rows_[r * width_]; }
  double* product(std::size_t r) { return &products_[r * width_]; }

  // products = rows * matrix, panel by panel: a panel's part stays in the cache for all rows.
  void multiply() {
    constexpr std::size_t kDepth = 128;
    parallel_for(width_ / kPanel, 1, threads_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        for (std::size_t r = 0; r < count_; ++r) {
          std::fill_n(product(r) + p * kPanel, kPanel, 0.0);
        }
        for (std::size_t first = 0; first < width_; first += kDepth) {
          const std::size_t last = std::min(width_, first + kDepth);
          for (std::size_t r = 0; r < count_; ++r) {
            add_rows(&matrix_[p * width_ * kPanel], row(r), first, last, product(r) + p * kPanel);
          }
        }
      }
    });
  }

  static void add_rows(const double* panel, const double* factors, std::size_t first,
                       std::size_t last, double* out) {
    double sums[kPanel];
    std::copy_n(out, kPanel, sums);
    for (std::size_t j = first; j < last; j += 4) {
      const double a = factors[j];
      const double b = factors[j + 1];
      const double c = factors[j + 2];
      const double d = factors[j + 3];
      const double* x = panel + j * kPanel;
      for (std::size_t k = 0; k < kPanel; ++k) {
        sums[k] += (a * x[k] + b * x[kPanel + k]) + (c * x[2 * kPanel + k] + d * x[3 * kPanel + k]);
      }
    }
    std::copy_n(sums, kPanel, out);
  }

  std::vector<double> turned(const std::vector<double>& rows, const std::vector<double>& by) const {
    std::vector<double> result(rows.size(), 0.0);
    parallel_for(count_, 1, threads_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        double* to = &result[r * width_];
        for (std::size_t s = 0; s < count_; ++s) {
          const double share = by[r * count_ + s];
          const double* from = &rows[s * width_];
          for (std::size_t k = 0; k < width_; ++k) to[k] += share * from[k];
        }
      }
    });
    return result;
  }

  void refill(std::size_t r) {
    for (std::size_t k = 0; k < dim_; ++k) row(r)[k] = random_.uniform(-1.0, 1.0);
    std::fill(row(r) + dim_, row(r) + width_, 0.0);
    normalise(row(r), width_);
  }

  // Gram-Schmidt, twice: one pass leaves errors of cancellation.
  void orthonormalise() {
    for (int time = 0; time < 2; ++time) {
      for (std::size_t begin = 0; begin < count_; begin += kGroup) {
        const std::size_t end = std::min(count_, begin + kGroup);
        for (std::size_t r = begin; r < end; ++r) {
          for (std::size_t s = begin; s < r; ++s) take_out(row(s), row(r), width_);
          while (normalise(row(r), width_) < kVanished) {  // the matrix has no more directions
            refill(r);
            for (int again = 0; again < 2; ++again) {
              for (std::size_t s = 0; s < r; ++s) take_out(row(s), row(r), width_);
            }
          }
        }
        parallel_for(count_ - end, 1, threads_, [&](std::size_t first, std::size_t last) {
          for (std::size_t r = end + first; r < end + last; ++r) {
            for (std::size_t s = begin; s < end; ++s) take_out(row(s), row(r), width_);
          }
        });
      }
    }
  }

  std::size_t dim_;
  std::size_t width_;  // with the zeros that fill up the last panel
  std::size_t count_;
  int threads_;
  std::vector<double> matrix_;    // as in SecondMoment::panels()
  std::vector<double> rows_;      // [count, width], orthonormal
  std::vector<double> products_;  // [count, width]
  Random random_;
};

// In float32, with the sign that makes the largest component positive.
void put(const double* row, std::size_t dim, std::vector<float>& rows) {
  const double* largest = std::max_element(
      row, row + dim, [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double sign = *largest < 0.0 ? -1.0 : 1.0;
  for (std::size_t k = 0; k < dim; ++k) rows.push_back(static_cast<float>(sign * row[k]));
}

}  // namespace

PrincipalDirections principal_directions(const SecondMoment& moment, const PrincipalParams& params,
                                         const Progress& progress) {
  const std::size_t dim = moment.dim();
  if (params.count < 1 || params.count > dim) {
    throw Error("vectors of " + std::to_string(dim) + " dimensions have 1 to " +
                std::to_string(dim) + " principal directions, not " + std::to_string(params.count));
  }
  const std::size_t spare = std::min(params.count, kMostSpare) + 8;
  Subspace subspace(moment, std::min(dim, params.count + spare), params.threads);
  const double trace = subspace.trace();
  if (!(trace > 0.0)) {
    throw Error("all vectors are zero: they have no principal directions");
  }
  PrincipalDirections found;
  found.dim = dim;
  std::vector<double> values;
  constexpr std::size_t kParts = 100;  // of the way, as it is told
  double first_error = 0.0;
  double shown = 0.0;
  // A check costs as much as many steps: the intervals between checks grow.
  for (std::size_t look = 8;; look += look / 2) {
    for (; found.steps < std::min(look, params.most_steps); found.steps += kProducts) {
      subspace.step();
      progress(static_cast<std::size_t>(shown), kParts);
    }
    values = subspace.turn_to_axes();
    const double error = subspace.worst(values, params.count) / values[0];
    found.converged = error <= params.tolerance;
    if (found.converged || found.steps >= params.most_steps) break;
    if (first_error == 0.0) first_error = error;
    // The error falls by a factor in each step, after the first ones.
    const double way = std::log(first_error / error) / std::log(first_error / params.tolerance);
    shown = std::clamp(kParts * way, shown, kParts - 1.0);
  }
  progress(kParts, kParts);
  for (std::size_t r = 0; r < params.count; ++r) {
    put(subspace.direction(r), dim, found.rows);
    found.shares.push_back(std::max(0.0, values[r]) / trace);
    found.kept += found.shares.back();
  }
  return found;
}

}  // namespace diml
