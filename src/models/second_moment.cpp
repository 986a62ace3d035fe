#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "diml/error.h"
#include "models/principal_directions.h"

namespace diml {
namespace {

constexpr std::size_t kPanel = SecondMoment::kPanel;
constexpr std::size_t kAtOnce = 4;  // vectors that one pass over a row of sums adds
constexpr std::size_t kTile = kPanel * kPanel;

// Adds the products of two panels of `vectors` vectors to the sums of their tile.
void add_products(const float* left, const float* right, std::size_t vectors, double* tile) {
  for (std::size_t i = 0; i < kPanel; ++i) {
    float sums[kPanel] = {};
    for (std::size_t k = 0; k < vectors; k += kAtOnce) {
      const float a = left[k * kPanel + i];
      const float b = left[(k + 1) * kPanel + i];
      const float c = left[(k + 2) * kPanel + i];
      const float d = left[(k + 3) * kPanel + i];
      const float* x = right + k * kPanel;
      for (std::size_t j = 0; j < kPanel; ++j) {
        sums[j] += (a * x[j] + b * x[kPanel + j]) + (c * x[2 * kPanel + j] + d * x[3 * kPanel + j]);
      }
    }
    for (std::size_t j = 0; j < kPanel; ++j) tile[i * kPanel + j] += static_cast<double>(sums[j]);
  }
}

// Panel p with panel q, p <= q, among the tiles.
std::size_t place_of(std::size_t p, std::size_t q, std::size_t panels) {
  return p * panels - p * (p + 1) / 2 + q;
}

}  // namespace

SecondMoment::SecondMoment(std::size_t dim, int threads)
    : dim_(dim),
      panels_((dim + kPanel - 1) / kPanel),
      threads_(threads),
      block_(panels_ * kBlock * kPanel, 0.0F),
      tiles_(panels_ * (panels_ + 1) / 2 * kTile, 0.0) {
  static_assert(kBlock % kAtOnce == 0);
  if (dim == 0) throw Error("vectors of no dimensions have no second moment");
}

void SecondMoment::add(std::span<const float> vectors) {
  if (vectors.size() % dim_ != 0) {
    throw Error(ErrorKind::internal, "the second moment was given an array of the wrong size");
  }
  for (std::size_t first = 0; first < vectors.size(); first += dim_) {
    const std::span<const float> vector = vectors.subspan(first, dim_);
    double square = 0.0;
    for (const float value : vector) square += static_cast<double>(value) * value;
    if (!std::isfinite(square)) throw Error("a cell holds NaN or infinity: embed it again");
    const double scale = square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
    for (std::size_t d = 0; d < dim_; ++d) {
      block_[(d / kPanel * kBlock + waiting_) * kPanel + d % kPanel] =
          static_cast<float>(vector[d] * scale);
    }
    ++count_;
    if (++waiting_ == kBlock) {
      add_block(tiles_);
      std::fill(block_.begin(), block_.end(), 0.0F);
      waiting_ = 0;
    }
  }
}

void SecondMoment::add_block(std::vector<double>& tiles) const {
  const std::size_t vectors = (waiting_ + kAtOnce - 1) / kAtOnce * kAtOnce;
  parallel_for(panels_, 1, threads_, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      for (std::size_t q = p; q < panels_; ++q) {
        add_products(&block_[p * kBlock * kPanel], &block_[q * kBlock * kPanel], vectors,
                     &tiles[place_of(p, q, panels_) * kTile]);
      }
    }
  });
}

std::vector<double> SecondMoment::panels() const {
  std::vector<double> tiles = tiles_;
  add_block(tiles);
  const std::size_t rows = panels_ * kPanel;
  std::vector<double> matrix(rows * rows);
  for (std::size_t p = 0; p < panels_; ++p) {
    for (std::size_t q = p; q < panels_; ++q) {
      const double* tile = &tiles[place_of(p, q, panels_) * kTile];
      for (std::size_t i = 0; i < kPanel; ++i) {
        for (std::size_t j = 0; j < kPanel; ++j) {
          // A tile on the diagonal is symmetric but for rounding: its upper half counts.
          const double value = p == q && i > j ? tile[j * kPanel + i] : tile[i * kPanel + j];
          matrix[(q * rows + p * kPanel + i) * kPanel + j] = value;
          matrix[(p * rows + q * kPanel + j) * kPanel + i] = value;
        }
      }
    }
  }
  return matrix;
}

}  // namespace diml
