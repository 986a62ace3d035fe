// Pairs whose kernel float32 cannot hold (a small lambda): the loop of large grids, in double.
// Compiled once per SIMD target.

#if defined(DIML_SINKHORN_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_SINKHORN_WIDE_INL_H_
#undef DIML_SINKHORN_WIDE_INL_H_
#else
#define DIML_SINKHORN_WIDE_INL_H_
#endif

#include "cpu/pair_buffers-inl.h"
#include "cpu/sinkhorn_cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// Working memory, in doubles.
inline std::size_t wide_doubles(const PairShape& shape) {
  return shape.cols * shape.row_pad + shape.rows * shape.col_pad +
         2 * (shape.row_pad + shape.col_pad) + cells_scratch(shape);
}

struct WideEnd {
  Problem<double> solved;
  SinkhornEnd end;
};

// Solves a pair whose similarities and marginals are computed.
inline WideEnd sinkhorn_wide(const PairShape& shape, const PairParams& params, Range range,
                             const PairBuffers& pair, double* memory) {
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
  make_kernel(kDouble, shape, params.lambda, range, pair.similarity, kernel);
  close_slack(shape, params, kernel);
  for (std::size_t j = 0; j < shape.cols; ++j) {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      kernel_by_row[i * shape.col_pad + j] = kernel[j * shape.row_pad + i];
    }
  }
  const Problem<double> problem{kernel, kernel_by_row, source_marginal, target_marginal, a, b};
  return {problem, sinkhorn_cells(kDouble, shape, params, problem, memory)};
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SINKHORN_WIDE_INL_H_
