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

// out = sum_r weights[r] * matrix[r, :] for V vectors of columns; even and odd rows are summed
// separately to hide latency.
template <std::size_t V, class D, class T = hn::TFromD<D>>
HWY_INLINE void weighted_row_sum(D d, const T* HWY_RESTRICT matrix, std::size_t stride,
                                 std::size_t rows, const T* HWY_RESTRICT weights,
                                 T* HWY_RESTRICT out) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> even[V];
  hn::Vec<D> odd[V];
  for (std::size_t v = 0; v < V; ++v) even[v] = odd[v] = hn::Zero(d);
  std::size_t r = 0;
  for (; r + 2 <= rows; r += 2) {
    const T* HWY_RESTRICT row = matrix + r * stride;
    const auto weight0 = hn::Set(d, weights[r]);
    const auto weight1 = hn::Set(d, weights[r + 1]);
    for (std::size_t v = 0; v < V; ++v) {
      even[v] = hn::MulAdd(weight0, hn::Load(d, row + v * lanes), even[v]);
      odd[v] = hn::MulAdd(weight1, hn::Load(d, row + stride + v * lanes), odd[v]);
    }
  }
  for (std::size_t v = 0; v < V; ++v) {
    if (r < rows) {
      const auto last = hn::Load(d, matrix + r * stride + v * lanes);
      even[v] = hn::MulAdd(hn::Set(d, weights[r]), last, even[v]);
    }
    hn::Store(hn::Add(even[v], odd[v]), d, out + v * lanes);
  }
}

template <class D, class T = hn::TFromD<D>>
void weighted_row_sums(D d, const T* matrix, std::size_t stride, std::size_t rows, const T* weights,
                       T* out) {
  constexpr std::size_t kWide = 4;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t column = 0;
  for (; column + kWide * lanes <= stride; column += kWide * lanes) {
    weighted_row_sum<kWide>(d, matrix + column, stride, rows, weights, out + column);
  }
  for (; column + 2 * lanes <= stride; column += 2 * lanes) {
    weighted_row_sum<2>(d, matrix + column, stride, rows, weights, out + column);
  }
  if (column < stride) {
    weighted_row_sum<1>(d, matrix + column, stride, rows, weights, out + column);
  }
}

// Input and output of Sinkhorn for one pair.
template <class T>
struct Problem {
  const T* kernel;         // [cols, row_pad]: K transposed
  const T* kernel_by_row;  // [rows, col_pad]: K, lanes along the target
  const T* source_marginal;
  const T* target_marginal;
  T* a;
  T* b;
};

struct SinkhornEnd {
  int iterations;
  float error;
};

// The transposition writes whole blocks of four rows.
inline std::size_t kernel_by_row_floats(const PairShape& shape) {
  return (shape.rows + 3) / 4 * 4 * shape.col_pad;
}

// Working memory beside the problem, in numbers.
inline std::size_t cells_scratch(const PairShape& shape) {
  return shape.row_pad + (1 + kSweep) * shape.col_pad;
}

template <class D, class T = hn::TFromD<D>>
SinkhornEnd sinkhorn_cells(D d, const PairShape& shape, const PairParams& params,
                           const Problem<T>& pair, T* scratch) {
  const std::size_t lanes = hn::Lanes(d);
  T* kernel_b = scratch;
  T* kernel_a = kernel_b + shape.row_pad;
  T* b[kSweep];  // by iteration, modulo kSweep
  for (int k = 0; k < kSweep; ++k)
    b[k] = kernel_a + (static_cast<std::size_t>(k) + 1) * shape.col_pad;
  std::fill_n(b[0], shape.col_pad, T{1});

  for (int iteration = 0;; ++iteration) {
    T* newest = b[iteration % kSweep];
    weighted_row_sums(d, pair.kernel, shape.row_pad, shape.cols, newest, kernel_b);
    const bool last = iteration >= params.max_iterations;
    // After b was prolonged, a is older than b: their marginal error is meaningless.
    if (last || iteration % kSweep != 0) {
      auto errors = hn::Zero(d);
      for (std::size_t i = 0; i < shape.row_pad; i += lanes) {
        const auto row_sum = hn::Mul(hn::Load(d, pair.a + i), hn::Load(d, kernel_b + i));
        const auto wanted = hn::Load(d, pair.source_marginal + i);
        errors = hn::Add(errors, hn::Abs(hn::Sub(row_sum, wanted)));
      }
      const auto error = static_cast<float>(hn::GetLane(hn::SumOfLanes(d, errors)));
      if (last || error < params.tolerance) {
        std::copy_n(newest, shape.col_pad, pair.b);
        return {iteration, error};
      }
    }
    for (std::size_t i = 0; i < shape.row_pad; i += lanes) {
      const auto marginal = hn::Load(d, pair.source_marginal + i);
      hn::Store(scaling(d, marginal, hn::Load(d, kernel_b + i)), d, pair.a + i);
    }
    weighted_row_sums(d, pair.kernel_by_row, shape.col_pad, shape.rows, pair.a, kernel_a);
    T* next = b[(iteration + 1) % kSweep];
    for (std::size_t j = 0; j < shape.col_pad; j += lanes) {
      const auto marginal = hn::Load(d, pair.target_marginal + j);
      hn::Store(scaling(d, marginal, hn::Load(d, kernel_a + j)), d, next + j);
    }
    if ((iteration + 1) % kSweep != 0 || iteration + 1 >= params.max_iterations) continue;

    const T* before = b[iteration % kSweep];
    const T* earlier = b[(iteration - 1) % kSweep];
    const auto steps =
        measure_steps(d, earlier, before, next, pair.target_marginal, shape.col_pad, kernel_a);
    const auto reach =
        prolongation(d, hn::SumOfLanes(d, steps.product), hn::SumOfLanes(d, steps.square));
    for (std::size_t j = 0; j < shape.col_pad; j += lanes) {
      hn::Store(prolonged(d, hn::Load(d, next + j), hn::Load(d, kernel_a + j), reach), d, next + j);
    }
  }
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SINKHORN_CELLS_INL_H_
