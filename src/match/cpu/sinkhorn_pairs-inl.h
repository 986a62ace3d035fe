// Sinkhorn for small grids: as many pairs at a time as a vector has lanes, lanes are pairs. No
// broadcast, no sum across lanes, one copy of K for both directions. Compiled once per SIMD target.
//
// Lanes are filled and emptied by quads, the four lanes that one 4 x 4 transposition serves; a pair
// that has converged keeps its lane, frozen, until its quad is done. Nothing crosses lanes: a
// pair's numbers do not depend on its neighbours.

#if defined(DIML_SINKHORN_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_SINKHORN_PAIRS_INL_H_
#undef DIML_SINKHORN_PAIRS_INL_H_
#else
#define DIML_SINKHORN_PAIRS_INL_H_
#endif

#include "cpu/pair_buffers-inl.h"
#include "cpu/sinkhorn_cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

constexpr std::size_t kQuad = std::min<std::size_t>(4, kLanes);
constexpr std::size_t kQuads = kLanes / kQuad;

// The interleaved kernel of a vector of pairs has to stay in the fastest cache for this layout to
// win.
constexpr std::size_t kLargestGroupBytes = std::size_t{20} * 1024;

inline bool fits_pairs(const PairShape& shape) {
  return shape.cols * shape.row_pad * kLanes * sizeof(float) <= kLargestGroupBytes;
}

// Element k of lane l is at k * kLanes + l.
struct PairGroup {
  float* kernel;           // [cols, row_pad]
  float* source_marginal;  // [row_pad]
  float* target_marginal;  // [col_pad]
  float* a;                // [row_pad]
  float* sums;             // [row_pad or col_pad], K b or K^T a
  float* b[kSweep];        // [col_pad], by iteration, modulo kSweep
  float* active;           // [1], 1 where the pair iterates, 0 where it is done or there is none
  float* left;             // [1], iterations left
  float* error;            // [1], marginal error of a pair that is done
};

inline std::size_t group_floats(const PairShape& shape) {
  const std::size_t vectors = shape.cols * shape.row_pad + 2 * shape.row_pad + shape.col_pad +
                              std::max(shape.row_pad, shape.col_pad) + kSweep * shape.col_pad + 3;
  return vectors * kLanes;
}

inline PairGroup lay_out_group(const PairShape& shape, float* memory) {
  std::fill_n(memory, group_floats(shape), 0.0f);
  const auto take = [&memory](std::size_t vectors) {
    return std::exchange(memory, memory + vectors * kLanes);
  };
  PairGroup group{};
  group.kernel = take(shape.cols * shape.row_pad);
  group.source_marginal = take(shape.row_pad);
  group.target_marginal = take(shape.col_pad);
  group.a = take(shape.row_pad);
  group.sums = take(std::max(shape.row_pad, shape.col_pad));
  for (float*& b : group.b) b = take(shape.col_pad);
  group.active = take(1);
  group.left = take(1);
  group.error = take(1);
  return group;
}

// out[u] = sum_n kernel[u * outer + n * inner] * weights[n] for B consecutive u.
template <std::size_t B>
HWY_INLINE void kernel_sums(const float* HWY_RESTRICT kernel, std::size_t outer, std::size_t inner,
                            std::size_t count, const float* HWY_RESTRICT weights,
                            float* HWY_RESTRICT out) {
  FloatVec sums[B];
  HWY_UNROLL(16)
  for (std::size_t u = 0; u < B; ++u) sums[u] = hn::Zero(kFloat);
  for (std::size_t n = 0; n < count; ++n) {
    const FloatVec weight = hn::Load(kFloat, weights + n * kLanes);
    HWY_UNROLL(16)
    for (std::size_t u = 0; u < B; ++u) {
      sums[u] =
          hn::MulAdd(hn::Load(kFloat, kernel + (u * outer + n * inner) * kLanes), weight, sums[u]);
    }
  }
  HWY_UNROLL(16)
  for (std::size_t u = 0; u < B; ++u) hn::Store(sums[u], kFloat, out + u * kLanes);
}

HWY_INLINE void all_kernel_sums(const float* kernel, std::size_t outer, std::size_t outer_count,
                                std::size_t inner, std::size_t inner_count, const float* weights,
                                float* out) {
  constexpr std::size_t kMost = kManyRegisters ? 16 : 8;
  std::size_t u = 0;
  for (; u + kMost <= outer_count; u += kMost) {
    kernel_sums<kMost>(kernel + u * outer * kLanes, outer, inner, inner_count, weights,
                       out + u * kLanes);
  }
  for (; u + 4 <= outer_count; u += 4) {
    kernel_sums<4>(kernel + u * outer * kLanes, outer, inner, inner_count, weights,
                   out + u * kLanes);
  }
  for (; u < outer_count; ++u) {
    kernel_sums<1>(kernel + u * outer * kLanes, outer, inner, inner_count, weights,
                   out + u * kLanes);
  }
}

// to = active ? marginal / sum : from, element by element.
HWY_INLINE void rescale(hn::Mask<FloatTag> active, const float* marginal, const float* sums,
                        const float* from, std::size_t count, float* to) {
  for (std::size_t k = 0; k < count * kLanes; k += kLanes) {
    const FloatVec scaled =
        scaling(kFloat, hn::Load(kFloat, marginal + k), hn::Load(kFloat, sums + k));
    hn::Store(hn::IfThenElse(active, scaled, hn::Load(kFloat, from + k)), kFloat, to + k);
  }
}

inline void prolong(const PairShape& shape, PairGroup& group) {
  float* newest = group.b[0];
  const auto steps = measure_steps(kFloat, group.b[kSweep - 2], group.b[kSweep - 1], newest,
                                   group.target_marginal, shape.cols * kLanes, group.sums);
  const FloatVec reach = prolongation(kFloat, steps.product, steps.square);
  // A pair without iterations left ends with its current error.
  const auto goes_on = hn::And(hn::Gt(hn::Load(kFloat, group.active), hn::Zero(kFloat)),
                               hn::Gt(hn::Load(kFloat, group.left), hn::Zero(kFloat)));
  for (std::size_t k = 0; k < shape.cols * kLanes; k += kLanes) {
    const FloatVec b = hn::Load(kFloat, newest + k);
    const FloatVec moved = prolonged(kFloat, b, hn::Load(kFloat, group.sums + k), reach);
    hn::Store(hn::IfThenElse(goes_on, moved, b), kFloat, newest + k);
  }
}

// kSweep iterations, fewer when no pair is left. Returns which of group.b is the newest.
template <std::size_t kRowPad>  // shape.row_pad where it is known at compile time, else 0
HWY_NOINLINE int sweep(const PairShape& shape, const PairParams& params, PairGroup& group) {
  const std::size_t row_pad = kRowPad ? kRowPad : shape.row_pad;
  const FloatVec tolerance = hn::Set(kFloat, params.tolerance);
  const FloatVec zero = hn::Zero(kFloat);
  for (int phase = 0; phase < kSweep; ++phase) {
    const float* newest = group.b[phase];
    all_kernel_sums(group.kernel, 1, shape.rows, row_pad, shape.cols, newest, group.sums);
    FloatVec error = zero;
    for (std::size_t k = 0; k < shape.rows * kLanes; k += kLanes) {
      const FloatVec row_sum =
          hn::Mul(hn::Load(kFloat, group.a + k), hn::Load(kFloat, group.sums + k));
      error = hn::Add(error, hn::AbsDiff(row_sum, hn::Load(kFloat, group.source_marginal + k)));
    }
    FloatVec left = hn::Load(kFloat, group.left);
    auto ends = hn::Eq(left, zero);
    // After b was prolonged, a is older than b: their marginal error is meaningless.
    if (phase != 0) ends = hn::Or(ends, hn::Lt(error, tolerance));
    auto active = hn::Gt(hn::Load(kFloat, group.active), zero);
    const auto done = hn::And(active, ends);
    if (!hn::AllFalse(kFloat, done)) {
      const FloatVec errors = hn::Load(kFloat, group.error);
      hn::Store(hn::IfThenElse(done, error, errors), kFloat, group.error);
      active = hn::AndNot(done, active);
      hn::Store(hn::IfThenElseZero(active, hn::Set(kFloat, 1.0f)), kFloat, group.active);
      if (hn::AllFalse(kFloat, active)) return phase;
    }
    rescale(active, group.source_marginal, group.sums, group.a, shape.rows, group.a);
    all_kernel_sums(group.kernel, row_pad, shape.cols, 1, shape.rows, group.a, group.sums);
    rescale(active, group.target_marginal, group.sums, newest, shape.cols,
            group.b[(phase + 1) % kSweep]);
    left = hn::IfThenElse(active, hn::Sub(left, hn::Set(kFloat, 1.0f)), left);
    hn::Store(left, kFloat, group.left);
  }
  prolong(shape, group);
  return 0;
}

// Runs tasks 0 .. count-1. load(task, pair) fills similarity, marginals and kernel, or returns
// false when there is nothing to iterate; finish(task, pair, end) reads pair.a and pair.b.
template <class Load, class Finish>
void sinkhorn_pairs(const PairShape& shape, const PairParams& params, std::size_t count,
                    float* memory, const Load& load, const Finish& finish) {
  const std::size_t pair_stride = pair_floats(shape);
  PairBuffers pairs[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    pairs[lane] = lay_out_pair(shape, memory + lane * pair_stride);
  }
  PairGroup group = lay_out_group(shape, memory + kLanes * pair_stride);
  const float most = static_cast<float>(params.max_iterations);
  std::size_t task_of[kLanes] = {};
  bool taken[kLanes] = {};

  const auto fill_quad = [&](std::size_t first, std::size_t& next) HWY_ATTR {
    for (std::size_t lane = first; lane < first + kQuad; ++lane) {
      while (!taken[lane] && next < count) {
        task_of[lane] = next++;
        taken[lane] = load(task_of[lane], pairs[lane]);
      }
      group.active[lane] = taken[lane] ? 1.0f : 0.0f;
      group.left[lane] = most;
      for (std::size_t j = 0; j < shape.cols; ++j) group.b[0][j * kLanes + lane] = 1.0f;
    }
    const PairBuffers& pair = pairs[first];
    transpose(pair.kernel, pair_stride, kQuad, shape.cols * shape.row_pad, group.kernel + first,
              kLanes);
    transpose(pair.source_marginal, pair_stride, kQuad, shape.row_pad,
              group.source_marginal + first, kLanes);
    transpose(pair.target_marginal, pair_stride, kQuad, shape.col_pad,
              group.target_marginal + first, kLanes);
  };
  const auto empty_quad = [&](std::size_t first, const float* newest) HWY_ATTR {
    for (std::size_t lane = first; lane < first + kQuad; ++lane) {
      if (!taken[lane]) continue;
      PairBuffers& pair = pairs[lane];
      for (std::size_t i = 0; i < shape.rows; ++i) pair.a[i] = group.a[i * kLanes + lane];
      for (std::size_t j = 0; j < shape.cols; ++j) pair.b[j] = newest[j * kLanes + lane];
      const int iterations = params.max_iterations - static_cast<int>(group.left[lane]);
      finish(task_of[lane], pair, SinkhornEnd{iterations, group.error[lane]});
      taken[lane] = false;
    }
  };

  std::size_t next = 0;
  for (;;) {
    bool any = false;
    for (std::size_t first = 0; first < kLanes; first += kQuad) {
      const bool free =
          std::none_of(taken + first, taken + first + kQuad, [](bool t) { return t; });
      if (free && next < count) fill_quad(first, next);
      any = any || std::any_of(taken + first, taken + first + kQuad, [](bool t) { return t; });
    }
    if (!any) return;
    const int newest =
        shape.row_pad == 16 ? sweep<16>(shape, params, group) : sweep<0>(shape, params, group);
    for (std::size_t first = 0; first < kLanes; first += kQuad) {
      const float* active = group.active + first;
      if (std::all_of(active, active + kQuad, [](float value) { return value == 0.0f; })) {
        empty_quad(first, group.b[newest]);
      }
    }
  }
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SINKHORN_PAIRS_INL_H_
