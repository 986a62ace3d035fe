// Sinkhorn for large grids: one pair at a time, lanes are cells. Compiled once per SIMD target.

#if defined(DIML_SINKHORN_CELLS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_SINKHORN_CELLS_INL_H_
#undef DIML_SINKHORN_CELLS_INL_H_
#else
#define DIML_SINKHORN_CELLS_INL_H_
#endif

#include "cpu/pair_buffers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// out = sum_r weights[r] * matrix[r, :] for V vectors of columns; even and odd rows apart, against
// latency.
template <std::size_t V>
HWY_INLINE void weighted_row_sum(const float* HWY_RESTRICT matrix, std::size_t stride,
                                 std::size_t rows, const float* HWY_RESTRICT weights,
                                 float* HWY_RESTRICT out) {
  FloatVec even[V];
  FloatVec odd[V];
  for (std::size_t v = 0; v < V; ++v) even[v] = odd[v] = hn::Zero(kFloat);
  std::size_t r = 0;
  for (; r + 2 <= rows; r += 2) {
    const float* HWY_RESTRICT row = matrix + r * stride;
    const FloatVec weight0 = hn::Set(kFloat, weights[r]);
    const FloatVec weight1 = hn::Set(kFloat, weights[r + 1]);
    for (std::size_t v = 0; v < V; ++v) {
      even[v] = hn::MulAdd(weight0, hn::Load(kFloat, row + v * kLanes), even[v]);
      odd[v] = hn::MulAdd(weight1, hn::Load(kFloat, row + stride + v * kLanes), odd[v]);
    }
  }
  for (std::size_t v = 0; v < V; ++v) {
    if (r < rows) {
      const FloatVec last = hn::Load(kFloat, matrix + r * stride + v * kLanes);
      even[v] = hn::MulAdd(hn::Set(kFloat, weights[r]), last, even[v]);
    }
    hn::Store(hn::Add(even[v], odd[v]), kFloat, out + v * kLanes);
  }
}

inline void weighted_row_sums(const float* matrix, std::size_t stride, std::size_t rows,
                              const float* weights, float* out) {
  constexpr std::size_t kWide = 4;
  std::size_t column = 0;
  for (; column + kWide * kLanes <= stride; column += kWide * kLanes) {
    weighted_row_sum<kWide>(matrix + column, stride, rows, weights, out + column);
  }
  for (; column < stride; column += kLanes) {
    weighted_row_sum<1>(matrix + column, stride, rows, weights, out + column);
  }
}

// Working memory beside the PairBuffers.
inline std::size_t cells_scratch_floats(const PairShape& shape) {
  return (shape.rows + 3) / 4 * 4 * shape.col_pad + shape.row_pad + (1 + kSweep) * shape.col_pad;
}

struct SinkhornEnd {
  int iterations;
  float error;
};

// From pair.kernel and the marginals to pair.a and pair.b.
inline SinkhornEnd sinkhorn_cells(const PairShape& shape, const PairParams& params,
                                  PairBuffers& pair, float* scratch) {
  float* kernel_by_row = scratch;  // K with lanes along the target
  float* kernel_b = kernel_by_row + (shape.rows + 3) / 4 * 4 * shape.col_pad;
  float* kernel_a = kernel_b + shape.row_pad;
  float* b[kSweep];  // by iteration, modulo kSweep
  for (int k = 0; k < kSweep; ++k)
    b[k] = kernel_a + (static_cast<std::size_t>(k) + 1) * shape.col_pad;
  std::fill_n(kernel_by_row, (shape.rows + 3) / 4 * 4 * shape.col_pad, 0.0f);
  transpose(pair.kernel, shape.row_pad, shape.cols, shape.rows, kernel_by_row, shape.col_pad);
  std::fill_n(b[0], shape.col_pad, 1.0f);

  for (int iteration = 0;; ++iteration) {
    float* newest = b[iteration % kSweep];
    weighted_row_sums(pair.kernel, shape.row_pad, shape.cols, newest, kernel_b);
    const bool last = iteration >= params.max_iterations;
    // Behind a prolonged b, a is the older one: their error says nothing.
    if (last || iteration % kSweep != 0) {
      FloatVec errors = hn::Zero(kFloat);
      for (std::size_t i = 0; i < shape.row_pad; i += kLanes) {
        const FloatVec row_sum =
            hn::Mul(hn::Load(kFloat, pair.a + i), hn::Load(kFloat, kernel_b + i));
        errors = hn::Add(errors, hn::AbsDiff(row_sum, hn::Load(kFloat, pair.source_marginal + i)));
      }
      const float error = hn::GetLane(hn::SumOfLanes(kFloat, errors));
      if (last || error < params.tolerance) {
        std::copy_n(newest, shape.col_pad, pair.b);
        return {iteration, error};
      }
    }
    for (std::size_t i = 0; i < shape.row_pad; i += kLanes) {
      hn::Store(scaling(hn::Load(kFloat, pair.source_marginal + i), hn::Load(kFloat, kernel_b + i)),
                kFloat, pair.a + i);
    }
    weighted_row_sums(kernel_by_row, shape.col_pad, shape.rows, pair.a, kernel_a);
    float* next = b[(iteration + 1) % kSweep];
    for (std::size_t j = 0; j < shape.col_pad; j += kLanes) {
      hn::Store(scaling(hn::Load(kFloat, pair.target_marginal + j), hn::Load(kFloat, kernel_a + j)),
                kFloat, next + j);
    }
    if ((iteration + 1) % kSweep != 0 || iteration + 1 >= params.max_iterations) continue;

    const float* before = b[iteration % kSweep];
    const float* earlier = b[(iteration - 1) % kSweep];
    const Steps steps =
        measure_steps(earlier, before, next, pair.target_marginal, shape.col_pad, kernel_a);
    const FloatVec reach =
        prolongation(hn::SumOfLanes(kFloat, steps.product), hn::SumOfLanes(kFloat, steps.square));
    for (std::size_t j = 0; j < shape.col_pad; j += kLanes) {
      hn::Store(prolonged(hn::Load(kFloat, next + j), hn::Load(kFloat, kernel_a + j), reach),
                kFloat, next + j);
    }
  }
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SINKHORN_CELLS_INL_H_
