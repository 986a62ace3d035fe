// Pairs whose kernel float32 cannot hold (a small lambda): the loop of large grids, in double.
// Compiled once per SIMD target.

#if defined(DIML_SINKHORN_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_SINKHORN_WIDE_INL_H_
#undef DIML_SINKHORN_WIDE_INL_H_
#else
#define DIML_SINKHORN_WIDE_INL_H_
#endif

#include <cmath>

#include "cpu/pair_buffers-inl.h"
#include "cpu/sinkhorn_cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

using DoubleTag = hn::ScalableTag<double>;
constexpr DoubleTag kDouble;

// As kWidestRange, for double.
constexpr float kWidestDoubleRange = 600.0f;

// Working memory, in doubles.
inline std::size_t wide_doubles(const PairShape& shape) {
  return shape.cols * shape.row_pad + shape.rows * shape.col_pad +
         2 * (shape.row_pad + shape.col_pad) + cells_scratch(shape);
}

// Solves a pair whose similarities and marginals are there. Gives the score and, where they are
// wanted, plan and potential.
inline SinkhornEnd sinkhorn_wide(const PairShape& shape, const PairParams& params, Range range,
                                 const PairBuffers& pair, double* memory, PairOutput& output) {
  std::fill_n(memory, wide_doubles(shape), 0.0);
  const auto take = [&memory](std::size_t count) { return std::exchange(memory, memory + count); };
  double* kernel = take(shape.cols * shape.row_pad);
  double* kernel_by_row = take(shape.rows * shape.col_pad);
  double* source_marginal = take(shape.row_pad);
  double* target_marginal = take(shape.col_pad);
  double* a = take(shape.row_pad);
  double* b = take(shape.col_pad);
  std::copy_n(pair.source_marginal, shape.rows, source_marginal);
  std::copy_n(pair.target_marginal, shape.cols, target_marginal);

  const double lambda = params.lambda;
  const double middle = 0.5 * (static_cast<double>(range.top) + range.bottom);
  const hn::Rebind<float, DoubleTag> floats;
  const auto most = hn::Set(kDouble, 0.5 * kWidestDoubleRange);
  for (std::size_t k = 0; k < shape.cols * shape.row_pad; k += hn::Lanes(kDouble)) {
    const auto s = hn::PromoteTo(kDouble, hn::Load(floats, pair.similarity + k));
    const auto exponent = hn::Div(hn::Sub(s, hn::Set(kDouble, middle)), hn::Set(kDouble, lambda));
    // The padding's S may lie outside the range.
    const auto bounded = hn::Max(hn::Neg(most), hn::Min(exponent, most));
    hn::Store(hn::Exp(kDouble, bounded), kDouble, kernel + k);
  }
  for (std::size_t j = 0; j < shape.cols; ++j) {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      kernel_by_row[i * shape.col_pad + j] = kernel[j * shape.row_pad + i];
    }
  }

  const SinkhornEnd end =
      sinkhorn_cells(kDouble, shape, params,
                     {kernel, kernel_by_row, source_marginal, target_marginal, a, b}, memory);
  double score = 0.0;
  for (std::size_t j = 0; j < shape.cols; ++j) {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      const std::size_t k = j * shape.row_pad + i;
      const double mass = a[i] * kernel[k] * b[j];
      score += mass * static_cast<double>(pair.similarity[k]);
      if (output.plan) output.plan[i * shape.cols + j] = static_cast<float>(mass);
    }
    if (output.target_potential) output.target_potential[j] = lambda * std::log(b[j]);
  }
  output.score = static_cast<float>(score);
  return end;
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SINKHORN_WIDE_INL_H_
