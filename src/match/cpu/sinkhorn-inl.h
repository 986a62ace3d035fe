// Sinkhorn in float32 on several pairs at a time. Compiled once per SIMD target.
//
// A slot holds one pair; a few slots iterate side by side so that the latency of one pair hides behind the others.
// A slot whose pair has converged takes the next pair at once. Nothing crosses from slot to slot, so a pair's
// numbers do not depend on its neighbours.

#if defined(DIML_SINKHORN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_SINKHORN_INL_H_
#undef DIML_SINKHORN_INL_H_
#else
#define DIML_SINKHORN_INL_H_
#endif

#include <cfloat>
#include <cmath>
#include <cstring>

#include <hwy/contrib/math/math-inl.h>

#include "cpu/pair_kernel.h"
#include "cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// Beyond this many units of lambda between the largest and the smallest similarity, float32 scalings could
// leave their range; see docs/decisions/0002.
constexpr float kWidestRange = 60.0f;

// Every fourth iteration b is moved along its own geometric tail (Aitken). The fixed point stays Sinkhorn's, the
// iterations to it fall by two thirds; see docs/decisions/0004.
constexpr int kExtrapolationPeriod = 4;
constexpr float kLargestRatio = 0.97f;

// kVectors: vectors that rows and columns fill where that is known, so that short loops vanish; 0 for any.
template <std::size_t kVectors>
struct PairShape {
  std::size_t rows;  // R_s
  std::size_t cols;  // R_t

  // R_s and R_t rounded up to whole vectors.
  std::size_t row_pad() const { return kVectors ? kVectors * kLanes : round_up_to_lanes(rows); }
  std::size_t col_pad() const { return kVectors ? kVectors * kLanes : round_up_to_lanes(cols); }
};

struct Slot {
  float* similarity;         // [cols + 1, row_pad]: S transposed, and behind it <target global, source cells>
  float* kernel;             // [cols rounded up to 4, row_pad]: K transposed, lanes are source cells
  float* kernel_by_row;      // [row_pad, col_pad]: K, lanes are target cells
  float* source_marginal;    // [row_pad], 0 in the padding, like all that follows
  float* target_marginal;    // [col_pad]
  float* a;                  // [row_pad]
  float* kernel_b;           // [row_pad], K b
  float* kernel_a;           // [col_pad], K^T a
  float* b[kExtrapolationPeriod];  // [col_pad], the last few b, by iteration
  std::size_t task = 0;
  int iteration = 0;
  bool busy = false;

  float*& newest_b() { return b[iteration % kExtrapolationPeriod]; }
  float* older_b(int steps) const { return b[(iteration - steps) % kExtrapolationPeriod]; }
};

template <class Shape>
inline std::size_t slot_floats(const Shape& shape) {
  return shape.row_pad() * (shape.cols + 1 + shape.cols + 3 + shape.col_pad() + 3) +
         shape.col_pad() * (2 + kExtrapolationPeriod);
}

template <class Shape>
inline Slot lay_out_slot(const Shape& shape, float* memory) {
  const auto take = [&memory](std::size_t count) { return std::exchange(memory, memory + count); };
  Slot slot{};
  slot.similarity = take((shape.cols + 1) * shape.row_pad());
  slot.kernel = take((shape.cols + 3) / 4 * 4 * shape.row_pad());
  slot.kernel_by_row = take(shape.row_pad() * shape.col_pad());
  slot.source_marginal = take(shape.row_pad());
  slot.a = take(shape.row_pad());
  slot.kernel_b = take(shape.row_pad());
  slot.target_marginal = take(shape.col_pad());
  slot.kernel_a = take(shape.col_pad());
  for (float*& b : slot.b) b = take(shape.col_pad());
  // What padding is read is zero and stays so.
  std::memset(slot.kernel, 0, (shape.cols + 3) / 4 * 4 * shape.row_pad() * sizeof(float));
  std::memset(slot.kernel_by_row, 0, shape.row_pad() * shape.col_pad() * sizeof(float));
  return slot;
}

// out[c, r] = in[r, c] for whole blocks of 4 x 4: rows and cols are rounded up to them where vectors are that long.
inline void transpose(const float* HWY_RESTRICT in, std::size_t in_stride, std::size_t rows,
                      std::size_t cols, float* HWY_RESTRICT out, std::size_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
#else
  const hn::FixedTag<float, 4> f4;
  const hn::FixedTag<double, 2> d2;
  for (std::size_t r = 0; r < rows; r += 4) {
    for (std::size_t c = 0; c < cols; c += 4) {
      const float* HWY_RESTRICT from = in + r * in_stride + c;
      const auto row0 = hn::LoadU(f4, from);
      const auto row1 = hn::LoadU(f4, from + in_stride);
      const auto row2 = hn::LoadU(f4, from + 2 * in_stride);
      const auto row3 = hn::LoadU(f4, from + 3 * in_stride);
      const auto low01 = hn::BitCast(d2, hn::InterleaveLower(f4, row0, row1));
      const auto low23 = hn::BitCast(d2, hn::InterleaveLower(f4, row2, row3));
      const auto high01 = hn::BitCast(d2, hn::InterleaveUpper(f4, row0, row1));
      const auto high23 = hn::BitCast(d2, hn::InterleaveUpper(f4, row2, row3));
      float* HWY_RESTRICT to = out + c * out_stride + r;
      hn::StoreU(hn::BitCast(f4, hn::InterleaveLower(d2, low01, low23)), f4, to);
      hn::StoreU(hn::BitCast(f4, hn::InterleaveUpper(d2, low01, low23)), f4, to + out_stride);
      hn::StoreU(hn::BitCast(f4, hn::InterleaveLower(d2, high01, high23)), f4, to + 2 * out_stride);
      hn::StoreU(hn::BitCast(f4, hn::InterleaveUpper(d2, high01, high23)), f4, to + 3 * out_stride);
    }
  }
#endif
}

inline float sum_of(const float* values, std::size_t padded) {
  FloatVec sum = hn::Load(kFloat, values);
  for (std::size_t i = kLanes; i < padded; i += kLanes) {
    sum = hn::Add(sum, hn::Load(kFloat, values + i));
  }
  return hn::GetLane(hn::SumOfLanes(kFloat, sum));
}

// weights = max(0, weights) / sum, or uniform where nothing is positive. Clears the padding.
inline bool normalise_marginal(float* weights, std::size_t count, std::size_t padded) {
  for (std::size_t i = 0; i < padded; i += kLanes) {
    const FloatVec positive = hn::Max(hn::Load(kFloat, weights + i), hn::Zero(kFloat));
    const auto inside = hn::FirstN(kFloat, count > i ? count - i : 0);
    hn::Store(hn::IfThenElseZero(inside, positive), kFloat, weights + i);
  }
  const float sum = sum_of(weights, padded);
  const bool uniform = !(sum > 0.0f);
  for (std::size_t i = 0; i < padded; i += kLanes) {
    const auto inside = hn::FirstN(kFloat, count > i ? count - i : 0);
    const FloatVec share =
        uniform ? hn::Set(kFloat, 1.0f / static_cast<float>(count))
                : hn::Div(hn::Load(kFloat, weights + i), hn::Set(kFloat, sum));
    hn::Store(hn::IfThenElseZero(inside, share), kFloat, weights + i);
  }
  return uniform;
}

// K = exp((S - max S) / lambda), both ways round, and b = 1. False where float32 is too narrow for it.
template <class Shape>
inline bool start_pair(const Shape& shape, const PairParams& params, Slot& slot) {
  FloatVec largest = hn::Set(kFloat, -FLT_MAX);
  FloatVec smallest = hn::Set(kFloat, FLT_MAX);
  for (std::size_t i = 0; i < shape.row_pad(); i += kLanes) {
    const auto inside = hn::FirstN(kFloat, shape.rows > i ? shape.rows - i : 0);
    for (std::size_t j = 0; j < shape.cols; ++j) {
      const FloatVec s = hn::Load(kFloat, slot.similarity + j * shape.row_pad() + i);
      largest = hn::IfThenElse(inside, hn::Max(largest, s), largest);
      smallest = hn::IfThenElse(inside, hn::Min(smallest, s), smallest);
    }
  }
  largest = hn::MaxOfLanes(kFloat, largest);
  const float range = hn::GetLane(largest) - hn::GetLane(hn::MinOfLanes(kFloat, smallest));
  if (!(range <= kWidestRange * params.lambda)) return false;

  const FloatVec scale = hn::Set(kFloat, 1.0f / params.lambda);
  for (std::size_t k = 0; k < shape.cols * shape.row_pad(); k += kLanes) {
    const FloatVec below = hn::Sub(hn::Load(kFloat, slot.similarity + k), largest);
    // The padding's S is 0 and may lie above the largest: keep it from overflowing.
    const FloatVec exponent = hn::Mul(hn::Min(below, hn::Zero(kFloat)), scale);
    hn::Store(hn::Exp(kFloat, exponent), kFloat, slot.kernel + k);
  }
  transpose(slot.kernel, shape.row_pad(), shape.cols, shape.rows, slot.kernel_by_row, shape.col_pad());
  slot.iteration = 0;
  for (std::size_t j = 0; j < shape.col_pad(); j += kLanes) {
    hn::Store(hn::Set(kFloat, 1.0f), kFloat, slot.newest_b() + j);
  }
  return true;
}

// out_p = sum_r weights_p[r] * matrix_p[r, :] for P slots. Even and odd rows are summed apart, whatever P and V.
template <std::size_t P, std::size_t V>
HWY_INLINE void weighted_row_sum(const float* const* matrices, std::size_t stride, std::size_t rows,
                                 const float* const* weights, float* const* outs,
                                 std::size_t column) {
  FloatVec even[P][V];
  FloatVec odd[P][V];
  for (std::size_t p = 0; p < P; ++p) {
    for (std::size_t v = 0; v < V; ++v) even[p][v] = odd[p][v] = hn::Zero(kFloat);
  }
  std::size_t r = 0;
  for (; r + 2 <= rows; r += 2) {
    for (std::size_t p = 0; p < P; ++p) {
      const float* HWY_RESTRICT row = matrices[p] + r * stride + column;
      const FloatVec weight0 = hn::Set(kFloat, weights[p][r]);
      const FloatVec weight1 = hn::Set(kFloat, weights[p][r + 1]);
      for (std::size_t v = 0; v < V; ++v) {
        even[p][v] = hn::MulAdd(weight0, hn::Load(kFloat, row + v * kLanes), even[p][v]);
        odd[p][v] = hn::MulAdd(weight1, hn::Load(kFloat, row + stride + v * kLanes), odd[p][v]);
      }
    }
  }
  for (std::size_t p = 0; p < P; ++p) {
    for (std::size_t v = 0; v < V; ++v) {
      if (r < rows) {
        const float* HWY_RESTRICT row = matrices[p] + r * stride + column;
        const FloatVec weight = hn::Set(kFloat, weights[p][r]);
        even[p][v] = hn::MulAdd(weight, hn::Load(kFloat, row + v * kLanes), even[p][v]);
      }
      hn::Store(hn::Add(even[p][v], odd[p][v]), kFloat, outs[p] + column + v * kLanes);
    }
  }
}

template <std::size_t P>
HWY_INLINE void weighted_row_sums(const float* const* matrices, std::size_t stride,
                                  std::size_t rows, const float* const* weights, float* const* outs) {
  constexpr std::size_t kWide = kTileBudget / (2 * P) > 4 ? 4 : (kTileBudget / (2 * P) < 2 ? 1 : 2);
  std::size_t column = 0;
  for (; column + kWide * kLanes <= stride; column += kWide * kLanes) {
    weighted_row_sum<P, kWide>(matrices, stride, rows, weights, outs, column);
  }
  for (; column < stride; column += kLanes) {
    weighted_row_sum<P, 1>(matrices, stride, rows, weights, outs, column);
  }
}

// out = marginal / sums. The floor keeps a cell without mass, and the padding, at 0 instead of 0 / 0.
HWY_INLINE void scale_to(const float* HWY_RESTRICT marginal, const float* HWY_RESTRICT sums,
                         std::size_t padded, float* HWY_RESTRICT out) {
  const FloatVec floor = hn::Set(kFloat, FLT_MIN);
  for (std::size_t i = 0; i < padded; i += kLanes) {
    const FloatVec sum = hn::Max(hn::Load(kFloat, sums + i), floor);
    hn::Store(hn::Div(hn::Load(kFloat, marginal + i), sum), kFloat, out + i);
  }
}

// sum_i |a_i (K b)_i - mu_i|
template <class Shape>
HWY_INLINE float row_error(const Shape& shape, const Slot& slot) {
  FloatVec error = hn::Zero(kFloat);
  for (std::size_t i = 0; i < shape.row_pad(); i += kLanes) {
    const FloatVec row_sum =
        hn::Mul(hn::Load(kFloat, slot.a + i), hn::Load(kFloat, slot.kernel_b + i));
    error = hn::Add(error, hn::AbsDiff(row_sum, hn::Load(kFloat, slot.source_marginal + i)));
  }
  return hn::GetLane(hn::SumOfLanes(kFloat, error));
}

// b <- b (b / b_1)^(rho / (1 - rho)), where rho is the ratio of the last two steps of log b.
template <class Shape>
inline void extrapolate(const Shape& shape, Slot& slot) {
  float* HWY_RESTRICT now = slot.newest_b();
  const float* HWY_RESTRICT before = slot.older_b(1);
  const float* HWY_RESTRICT earlier = slot.older_b(2);
  float* HWY_RESTRICT last_step = slot.kernel_a;  // free at this point of the iteration
  const FloatVec floor = hn::Set(kFloat, FLT_MIN);
  FloatVec product = hn::Zero(kFloat);
  FloatVec square = hn::Zero(kFloat);
  for (std::size_t j = 0; j < shape.col_pad(); j += kLanes) {
    const FloatVec b0 = hn::Max(hn::Load(kFloat, earlier + j), floor);
    const FloatVec b1 = hn::Max(hn::Load(kFloat, before + j), floor);
    const FloatVec b2 = hn::Max(hn::Load(kFloat, now + j), floor);
    const FloatVec step0 = hn::Log(kFloat, hn::Div(b1, b0));
    const FloatVec step1 = hn::Log(kFloat, hn::Div(b2, b1));
    const FloatVec weighted = hn::Mul(hn::Load(kFloat, slot.target_marginal + j), step0);
    product = hn::MulAdd(weighted, step1, product);
    square = hn::MulAdd(weighted, step0, square);
    hn::Store(step1, kFloat, last_step + j);
  }
  const float squares = hn::GetLane(hn::SumOfLanes(kFloat, square));
  const float ratio = hn::GetLane(hn::SumOfLanes(kFloat, product)) / std::max(squares, FLT_MIN);
  if (!(ratio > 0.0f)) return;
  const float rho = std::min(ratio, kLargestRatio);
  const FloatVec reach = hn::Set(kFloat, rho / (1.0f - rho));
  const FloatVec most = hn::Set(kFloat, 10.0f);
  for (std::size_t j = 0; j < shape.col_pad(); j += kLanes) {
    const FloatVec far = hn::Mul(hn::Load(kFloat, last_step + j), reach);
    const FloatVec step = hn::Max(hn::Neg(most), hn::Min(far, most));
    hn::Store(hn::Mul(hn::Load(kFloat, now + j), hn::Exp(kFloat, step)), kFloat, now + j);
  }
}

// Runs tasks 0 .. count-1 through P slots. load(task, slot) prepares similarity, marginals and kernel, or says
// false when the task needs no iterations; finish(slot, error) takes the result.
template <std::size_t P, class Shape, class Load, class Finish>
void iterate_slots(const Shape& shape, const PairParams& params, Slot* slots, std::size_t count,
                   const Load& load, const Finish& finish) {
  std::size_t next = 0;
  const float* by_source[P];
  const float* by_target[P];
  const float* a[P];
  const float* b[P];
  float* kernel_b[P];
  float* kernel_a[P];
  for (std::size_t p = 0; p < P; ++p) {
    by_source[p] = slots[p].kernel;
    by_target[p] = slots[p].kernel_by_row;
    a[p] = slots[p].a;
    kernel_b[p] = slots[p].kernel_b;
    kernel_a[p] = slots[p].kernel_a;
  }
  for (;;) {
    bool busy = false;
    for (std::size_t p = 0; p < P; ++p) {
      while (!slots[p].busy && next < count) {
        slots[p].task = next++;
        slots[p].busy = load(slots[p].task, slots[p]);
      }
      busy |= slots[p].busy;
      b[p] = slots[p].newest_b();
    }
    if (!busy) return;

    weighted_row_sums<P>(by_source, shape.row_pad(), shape.cols, b, kernel_b);
    for (std::size_t p = 0; p < P; ++p) {
      Slot& slot = slots[p];
      if (!slot.busy) continue;
      // Behind an extrapolation a is older than b: their error says nothing.
      const bool last = slot.iteration >= params.max_iterations;
      if (last || slot.iteration % kExtrapolationPeriod != 0) {
        const float error = row_error(shape, slot);
        if (error < params.tolerance || last) {
          finish(slot, error);
          slot.busy = false;
          continue;
        }
      }
      scale_to(slot.source_marginal, slot.kernel_b, shape.row_pad(), slot.a);
    }
    weighted_row_sums<P>(by_target, shape.col_pad(), shape.rows, a, kernel_a);
    for (std::size_t p = 0; p < P; ++p) {
      Slot& slot = slots[p];
      if (!slot.busy) continue;
      ++slot.iteration;
      scale_to(slot.target_marginal, slot.kernel_a, shape.col_pad(), slot.newest_b());
      if (slot.iteration % kExtrapolationPeriod == 0 && slot.iteration < params.max_iterations) {
        extrapolate(shape, slot);
      }
    }
  }
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SINKHORN_INL_H_
