// Shared by the two Sinkhorn loops: one pair's matrices in float32. Compiled once per SIMD target.

#if defined(DIML_PAIR_BUFFERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_PAIR_BUFFERS_INL_H_
#undef DIML_PAIR_BUFFERS_INL_H_
#else
#define DIML_PAIR_BUFFERS_INL_H_
#endif

#include <cfloat>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <hwy/contrib/math/math-inl.h>

#include "cpu/pair_kernel.h"
#include "cpu/tile-inl.h"
#include "marginal_weight.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// Pairs are solved in float32 or, where that is too narrow, in double.
using DoubleTag = hn::ScalableTag<double>;
constexpr DoubleTag kDouble;

// Beyond this many units of lambda between the largest and the smallest similarity, scalings could
// leave their range; see docs/decisions/0002.
template <class T>
constexpr float kWidestRange = std::is_same_v<T, float> ? 80.0f : 600.0f;

// Both loops move b along its own geometric tail (Aitken) after every fourth iteration. The fixed
// point stays Sinkhorn's, the iterations to it fall by half to two thirds; see docs/decisions/0004.
constexpr int kSweep = 4;
// Of two steps of log b: bounds how far the tail is followed.
constexpr double kLargestRatio = 0.97;
constexpr double kLongestStep = 10.0;  // of log b
// Of log b, root mean square.
template <class T>
constexpr T kNoiseStep = std::is_same_v<T, float> ? T(1e-5) : T(1e-12);

struct PairShape {
  std::size_t rows;     // R_s
  std::size_t cols;     // R_t
  std::size_t row_pad;  // R_s rounded up to whole vectors
  std::size_t col_pad;  // R_t rounded up to whole vectors
};

inline PairShape shape_of(std::size_t rows, std::size_t cols) {
  return {rows, cols, round_up_to_lanes(rows), round_up_to_lanes(cols)};
}

// Padding is 0 in the marginals and scalings; in the matrices it holds anything finite.
struct PairBuffers {
  float* similarity;  // [cols + 1, row_pad]: S transposed; the last row is <target global, source
                      // cells>
  float* kernel;      // [cols rounded up to 4, row_pad]: K transposed
  float* source_marginal;  // [row_pad]
  float* target_marginal;  // [col_pad]
  float* a;                // [row_pad]
  float* b;                // [col_pad]
};

inline std::size_t kernel_floats(const PairShape& shape) {
  return (shape.cols + 3) / 4 * 4 * shape.row_pad;
}

inline std::size_t pair_floats(const PairShape& shape) {
  return (shape.cols + 1) * shape.row_pad + kernel_floats(shape) +
         2 * (shape.row_pad + shape.col_pad);
}

inline PairBuffers lay_out_pair(const PairShape& shape, float* memory) {
  const auto take = [&memory](std::size_t count) { return std::exchange(memory, memory + count); };
  PairBuffers pair{};
  pair.similarity = take((shape.cols + 1) * shape.row_pad);
  pair.kernel = take(kernel_floats(shape));
  pair.source_marginal = take(shape.row_pad);
  pair.target_marginal = take(shape.col_pad);
  pair.a = take(shape.row_pad);
  pair.b = take(shape.col_pad);
  std::fill_n(pair.similarity, pair_floats(shape), 0.0f);
  return pair;
}

// A part of the mass (docs/decisions/0022): a cell more on each side.
inline PairShape solved_shape(const PairShape& real, const PairParams& params) {
  const std::size_t more = params.slack > 0.0f ? 1 : 0;
  return shape_of(real.rows + more, real.cols + more);
}

// out[c, r] = in[r, c] for whole blocks of 4 x 4: rows and cols are rounded up to them where
// vectors are that long.
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

// A vector of cell values from `k` on, as float32.
HWY_INLINE FloatVec load_cells(const float* cells, std::size_t k) {
  return hn::LoadU(kFloat, cells + k);
}
template <class Half>
HWY_INLINE FloatVec load_cells(const Half* cells, std::size_t k) {
  return hn::PromoteTo(kFloat, hn::LoadU(hn::Rebind<Half, FloatTag>(), cells + k));
}
HWY_INLINE float load_cell(const float* cells, std::size_t k) { return cells[k]; }
HWY_INLINE float load_cell(const hwy::float16_t* cells, std::size_t k) {
  Float16 value;
  std::memcpy(&value, cells + k, sizeof(value));
  return to_float(value);
}
HWY_INLINE float load_cell(const hwy::bfloat16_t* cells, std::size_t k) {
  BFloat16 value;
  std::memcpy(&value, cells + k, sizeof(value));
  return to_float(value);
}

// Correlations become weights that sum to 1; uniform ones (and true) where nothing correlates.
// Clears the padding.
inline bool normalise_marginal(MarginalRule rule, float* weights, std::size_t count,
                               std::size_t padded) {
  for (std::size_t i = 0; i < count; ++i) weights[i] = marginal_weight(rule, weights[i]);
  std::fill(weights + count, weights + padded, 0.0f);
  FloatVec total = hn::Zero(kFloat);
  for (std::size_t i = 0; i < padded; i += kLanes) {
    total = hn::Add(total, hn::Load(kFloat, weights + i));
  }
  const float sum = hn::GetLane(hn::SumOfLanes(kFloat, total));
  if (!(sum > static_cast<float>(kNoCorrelation))) {
    std::fill_n(weights, count, 1.0f / static_cast<float>(count));
    return true;
  }
  for (std::size_t i = 0; i < padded; i += kLanes) {
    hn::Store(hn::Div(hn::Load(kFloat, weights + i), hn::Set(kFloat, sum)), kFloat, weights + i);
  }
  return false;
}

// A vector of similarities, as numbers of the loop that solves them.
HWY_INLINE FloatVec load_similarities(FloatTag, const float* from) {
  return hn::Load(kFloat, from);
}
HWY_INLINE hn::Vec<DoubleTag> load_similarities(DoubleTag, const float* from) {
  return hn::PromoteTo(kDouble, hn::Load(hn::Rebind<float, DoubleTag>(), from));
}

// e^x for |x| <= 80, to 2 units in the last place. Without the special cases of a general exp.
HWY_INLINE FloatVec exp_in_range(FloatVec x) {
  const hn::RebindToSigned<FloatTag> ints;
  const FloatVec whole = hn::Round(hn::Mul(x, hn::Set(kFloat, 1.44269504f)));
  FloatVec rest =
      hn::NegMulAdd(whole, hn::Set(kFloat, 0.693145752f), x);  // ln 2, high and low part
  rest = hn::NegMulAdd(whole, hn::Set(kFloat, 1.42860677e-6f), rest);
  FloatVec p = hn::Set(kFloat, 1.0f / 720.0f);
  p = hn::MulAdd(p, rest, hn::Set(kFloat, 1.0f / 120.0f));
  p = hn::MulAdd(p, rest, hn::Set(kFloat, 1.0f / 24.0f));
  p = hn::MulAdd(p, rest, hn::Set(kFloat, 1.0f / 6.0f));
  p = hn::MulAdd(p, rest, hn::Set(kFloat, 0.5f));
  p = hn::MulAdd(p, rest, hn::Set(kFloat, 1.0f));
  p = hn::MulAdd(p, rest, hn::Set(kFloat, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(ints, whole), hn::Set(ints, 127)));
  return hn::Mul(p, hn::BitCast(kFloat, exponent));
}
HWY_INLINE hn::Vec<DoubleTag> exp_in_range(hn::Vec<DoubleTag> x) { return hn::Exp(kDouble, x); }

// Of a pair's similarities.
struct Range {
  float bottom;
  float top;
  // Whether T can hold the kernel. False also for similarities that are no numbers.
  template <class T>
  bool fits(float lambda) const {
    return top - bottom <= kWidestRange<T> * lambda;
  }
};

inline Range range_of(const PairShape& shape, const PairBuffers& pair) {
  FloatVec largest = hn::Set(kFloat, -FLT_MAX);
  FloatVec smallest = hn::Set(kFloat, FLT_MAX);
  for (std::size_t i = 0; i < shape.row_pad; i += kLanes) {
    const auto inside = hn::FirstN(kFloat, shape.rows - std::min(shape.rows, i));
    for (std::size_t j = 0; j < shape.cols; ++j) {
      const FloatVec s = hn::Load(kFloat, pair.similarity + j * shape.row_pad + i);
      largest = hn::IfThenElse(inside, hn::Max(largest, s), largest);
      smallest = hn::IfThenElse(inside, hn::Min(smallest, s), smallest);
    }
  }
  return {hn::GetLane(hn::MinOfLanes(kFloat, smallest)),
          hn::GetLane(hn::MaxOfLanes(kFloat, largest))};
}

// K = exp((S - middle) / lambda), where the middle of S's range keeps K and the scalings as far
// from overflow as from underflow; the constant cancels in the plan.
template <class D, class T = hn::TFromD<D>>
void make_kernel(D d, const PairShape& shape, float lambda, Range range, const float* similarity,
                 T* kernel) {
  const auto middle = hn::Set(d, T(0.5) * (T(range.top) + T(range.bottom)));
  const auto scale = hn::Set(d, T(1) / T(lambda));
  const auto most = hn::Set(d, T(0.5) * T(kWidestRange<T>));
  for (std::size_t k = 0; k < shape.cols * shape.row_pad; k += hn::Lanes(d)) {
    const auto exponent = hn::Mul(hn::Sub(load_similarities(d, similarity + k), middle), scale);
    // The padding's S is 0 and may lie outside the range: keep it from overflowing.
    const auto bounded = hn::Max(hn::Neg(most), hn::Min(exponent, most));
    hn::Store(exp_in_range(bounded), d, kernel + k);
  }
}

// Copies a pair with its marginals and adds a slack cell to each side. What it costs cancels: a
// similarity among the others keeps the kernel's range.
inline void add_slack(const PairShape& real, const PairBuffers& from, float slack,
                      const PairShape& solved, PairBuffers& to) {
  const Range range = range_of(real, from);
  const float middle = 0.5f * (range.top + range.bottom);
  for (std::size_t j = 0; j < real.cols; ++j) {
    std::copy_n(from.similarity + j * real.row_pad, real.rows, to.similarity + j * solved.row_pad);
    to.similarity[j * solved.row_pad + real.rows] = middle;
  }
  std::fill_n(to.similarity + real.cols * solved.row_pad, solved.rows, middle);
  std::copy_n(from.source_marginal, real.rows, to.source_marginal);
  std::copy_n(from.target_marginal, real.cols, to.target_marginal);
  to.source_marginal[real.rows] = to.target_marginal[real.cols] = slack;
}

// Slack goes to no slack.
template <class T>
void close_slack(const PairShape& solved, const PairParams& params, T* kernel) {
  if (params.slack > 0.0f) kernel[(solved.cols - 1) * solved.row_pad + solved.rows - 1] = T{0};
}

// Slack cells count nothing in the score. Their similarities are not needed any more.
inline void silence_slack(const PairShape& solved, const PairParams& params, PairBuffers& pair) {
  if (!(params.slack > 0.0f)) return;
  for (std::size_t j = 0; j < solved.cols; ++j) {
    pair.similarity[j * solved.row_pad + solved.rows - 1] = 0.0f;
  }
  std::fill_n(pair.similarity + (solved.cols - 1) * solved.row_pad, solved.rows, 0.0f);
}

// Below this a scaling counts as 0.
template <class D>
HWY_INLINE hn::Vec<D> least_scaling(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::min());
}

// marginal / sum. The floor keeps a cell without mass, and the padding, at 0 instead of 0 / 0.
template <class D>
HWY_INLINE hn::Vec<D> scaling(D d, hn::Vec<D> marginal, hn::Vec<D> sum) {
  return hn::Div(marginal, hn::Max(sum, least_scaling(d)));
}

// How far a step of log b is prolonged when its successive steps shrink by `product / square`.
// Steps near the rounding error are not prolonged: their noise would keep a pair from
// converging.
template <class D>
HWY_INLINE hn::Vec<D> prolongation(D d, hn::Vec<D> product, hn::Vec<D> square) {
  using T = hn::TFromD<D>;
  const auto noise = hn::Set(d, kNoiseStep<T> * kNoiseStep<T>);
  const auto ratio = hn::Div(product, hn::Max(square, noise));
  const auto rho = hn::Max(hn::Min(ratio, hn::Set(d, static_cast<T>(kLargestRatio))), hn::Zero(d));
  const auto reach = hn::Div(rho, hn::Sub(hn::Set(d, T{1}), rho));
  return hn::IfThenElseZero(hn::Gt(square, noise), reach);
}

// log(later / earlier), for scalings that may be 0.
template <class D>
HWY_INLINE hn::Vec<D> log_step(D d, hn::Vec<D> later, hn::Vec<D> earlier) {
  return hn::Log(d, hn::Div(hn::Max(later, least_scaling(d)), hn::Max(earlier, least_scaling(d))));
}

// The last two steps of log b: the input of `prolongation`, lane by lane, and the last step itself.
template <class D>
struct Steps {
  hn::Vec<D> product;
  hn::Vec<D> square;
};
template <class D, class T = hn::TFromD<D>>
HWY_INLINE Steps<D> measure_steps(D d, const T* HWY_RESTRICT earlier, const T* HWY_RESTRICT before,
                                  const T* HWY_RESTRICT now, const T* HWY_RESTRICT marginal,
                                  std::size_t count, T* HWY_RESTRICT last_step) {
  Steps<D> steps{hn::Zero(d), hn::Zero(d)};
  for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
    const auto middle = hn::Load(d, before + k);
    const auto step0 = log_step(d, middle, hn::Load(d, earlier + k));
    const auto step1 = log_step(d, hn::Load(d, now + k), middle);
    const auto weighted = hn::Mul(hn::Load(d, marginal + k), step0);
    steps.product = hn::MulAdd(weighted, step1, steps.product);
    steps.square = hn::MulAdd(weighted, step0, steps.square);
    hn::Store(step1, d, last_step + k);
  }
  return steps;
}

// b moved on by reach x step.
template <class D>
HWY_INLINE hn::Vec<D> prolonged(D d, hn::Vec<D> b, hn::Vec<D> step, hn::Vec<D> reach) {
  const auto most = hn::Set(d, static_cast<hn::TFromD<D>>(kLongestStep));
  const auto far = hn::Max(hn::Neg(most), hn::Min(hn::Mul(step, reach), most));
  return hn::Mul(b, hn::Exp(d, far));
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_PAIR_BUFFERS_INL_H_
