// Sinkhorn for one small pair at a time, lanes are cells: what `sinkhorn_pairs` computes, bit for
// bit. A few pairs leave most lanes of that loop empty; a call with one pair would pay for sixteen.
// Compiled once per SIMD target.
//
// Each sum takes its terms one after the other, as a lane of `sinkhorn_pairs` does.

#if defined(DIML_SINKHORN_ONE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_SINKHORN_ONE_INL_H_
#undef DIML_SINKHORN_ONE_INL_H_
#else
#define DIML_SINKHORN_ONE_INL_H_
#endif

#include "cpu/pair_buffers-inl.h"
#include "cpu/sinkhorn_cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// Up to this many pairs of a call are solved one by one. Measured: docs/cpu.md.
constexpr std::size_t kFewPairs = 3;

// out[u] = sum_n matrix[n, u] * weights[n], summed over n in order, for `stride` values of u.
HWY_INLINE void ordered_sums(const float* HWY_RESTRICT matrix, std::size_t stride,
                             std::size_t count, const float* HWY_RESTRICT weights,
                             float* HWY_RESTRICT out) {
  for (std::size_t u = 0; u < stride; u += kLanes) {
    FloatVec sum = hn::Zero(kFloat);
    for (std::size_t n = 0; n < count; ++n) {
      const FloatVec column = hn::Load(kFloat, matrix + n * stride + u);
      sum = hn::MulAdd(column, hn::Set(kFloat, weights[n]), sum);
    }
    hn::Store(sum, kFloat, out + u);
  }
}

// The marginal error, in every lane.
HWY_INLINE FloatVec ordered_error(const PairShape& shape, const Problem<float>& problem,
                                  const float* HWY_RESTRICT sums, float* HWY_RESTRICT gaps) {
  for (std::size_t i = 0; i < shape.row_pad; i += kLanes) {
    const FloatVec row_sum = hn::Mul(hn::Load(kFloat, problem.a + i), hn::Load(kFloat, sums + i));
    hn::Store(hn::AbsDiff(row_sum, hn::Load(kFloat, problem.source_marginal + i)), kFloat,
              gaps + i);
  }
  float error = 0.0f;
  for (std::size_t i = 0; i < shape.rows; ++i) error += gaps[i];
  return hn::Set(kFloat, error);
}

// The input of `prolongation`, in every lane, and the last step of log b in `last_step`.
inline Steps<FloatTag> ordered_steps(const PairShape& shape, const float* HWY_RESTRICT earlier,
                                     const float* HWY_RESTRICT before,
                                     const float* HWY_RESTRICT now,
                                     const float* HWY_RESTRICT marginal,
                                     float* HWY_RESTRICT last_step) {
  HWY_ALIGN float step[kLanes];
  HWY_ALIGN float weighted[kLanes];
  Steps<FloatTag> steps{hn::Zero(kFloat), hn::Zero(kFloat)};
  for (std::size_t j = 0; j < shape.cols; j += kLanes) {
    const FloatVec middle = hn::Load(kFloat, before + j);
    const FloatVec step0 = log_step(kFloat, middle, hn::Load(kFloat, earlier + j));
    const FloatVec step1 = log_step(kFloat, hn::Load(kFloat, now + j), middle);
    hn::Store(step0, kFloat, step);
    hn::Store(hn::Mul(hn::Load(kFloat, marginal + j), step0), kFloat, weighted);
    hn::Store(step1, kFloat, last_step + j);
    for (std::size_t k = 0; k < std::min(kLanes, shape.cols - j); ++k) {
      const FloatVec weight = hn::Set(kFloat, weighted[k]);
      steps.product = hn::MulAdd(weight, hn::Set(kFloat, last_step[j + k]), steps.product);
      steps.square = hn::MulAdd(weight, hn::Set(kFloat, step[k]), steps.square);
    }
  }
  return steps;
}

// As sinkhorn_cells. scratch: [row_pad + (1 + kSweep) * col_pad].
inline SinkhornEnd sinkhorn_one(const PairShape& shape, const PairParams& params,
                                const Problem<float>& problem, float* scratch) {
  float* row_sums = scratch;
  float* column_sums = row_sums + shape.row_pad;
  float* b[kSweep];
  for (int k = 0; k < kSweep; ++k) {
    b[k] = column_sums + (static_cast<std::size_t>(k) + 1) * shape.col_pad;
    std::fill_n(b[k], shape.col_pad, 0.0f);
  }
  std::fill_n(b[0], shape.cols, 1.0f);
  HWY_ALIGN float gaps[kMostCells + kLanes];

  for (int iteration = 0;; ++iteration) {
    float* newest = b[iteration % kSweep];
    ordered_sums(problem.kernel, shape.row_pad, shape.cols, newest, row_sums);
    const bool last = iteration >= params.max_iterations;
    // After b was prolonged, a is older than b: their marginal error is meaningless.
    if (last || iteration % kSweep != 0) {
      const float error = hn::GetLane(ordered_error(shape, problem, row_sums, gaps));
      if (last || error < params.tolerance) {
        std::copy_n(newest, shape.cols, problem.b);
        return {iteration, error};
      }
    }
    for (std::size_t i = 0; i < shape.row_pad; i += kLanes) {
      const FloatVec marginal = hn::Load(kFloat, problem.source_marginal + i);
      hn::Store(scaling(kFloat, marginal, hn::Load(kFloat, row_sums + i)), kFloat, problem.a + i);
    }
    ordered_sums(problem.kernel_by_row, shape.col_pad, shape.rows, problem.a, column_sums);
    float* next = b[(iteration + 1) % kSweep];
    for (std::size_t j = 0; j < shape.col_pad; j += kLanes) {
      const FloatVec marginal = hn::Load(kFloat, problem.target_marginal + j);
      hn::Store(scaling(kFloat, marginal, hn::Load(kFloat, column_sums + j)), kFloat, next + j);
    }
    if ((iteration + 1) % kSweep != 0 || iteration + 1 >= params.max_iterations) continue;

    const Steps<FloatTag> steps = ordered_steps(shape, b[kSweep - 2], b[kSweep - 1], next,
                                                problem.target_marginal, column_sums);
    const FloatVec reach = prolongation(kFloat, steps.product, steps.square);
    for (std::size_t j = 0; j < shape.cols; j += kLanes) {
      const FloatVec moved =
          prolonged(kFloat, hn::Load(kFloat, next + j), hn::Load(kFloat, column_sums + j), reach);
      hn::Store(moved, kFloat, next + j);
    }
  }
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SINKHORN_ONE_INL_H_
