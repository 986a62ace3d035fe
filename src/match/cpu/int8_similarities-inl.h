// The similarities and correlations of pairs of int8 cells. Sums of products are integers and
// exact: a similarity has the same bits on every SIMD target. Compiled once per SIMD target.

#if defined(DIML_INT8_SIMILARITIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_INT8_SIMILARITIES_INL_H_
#undef DIML_INT8_SIMILARITIES_INL_H_
#else
#define DIML_INT8_SIMILARITIES_INL_H_
#endif

#include <cmath>
#include <cstring>

#include "cpu/cells-inl.h"
#include "cpu/int8_tile-inl.h"
#include "cpu/similarities-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// As Similarities. Without native dot products, float32 arithmetic adds the integers.
class Int8Similarities {
 public:
  static std::size_t floats(const PairShape& shape, std::size_t dim) {
    const std::size_t of_row = row_bytes(dim) / sizeof(float);
    return round_up_to_lanes(std::max(shape.rows, shape.cols) * dim) + shape.row_pad * dim +
           (shape.rows + shape.cols + 2 + shape.row_pad) * of_row + 2 * shape.row_pad +
           2 * shape.cols * shape.row_pad + 2 * shape.col_pad;
  }

  Int8Similarities(const PairShape& shape, const PairTask& sample, bool correlates, float* memory)
      : shape_(shape),
        dim_(sample.source.dim),
        stride_(row_bytes(dim_)),
        correlates_(correlates),
        native_(has_int8_dot_products()),
        tiled_rows_(rows_in_tiles(shape)) {
    const auto take = [&memory](std::size_t count) {
      return std::exchange(memory, memory + count);
    };
    const std::size_t of_row = stride_ / sizeof(float);
    widened_ = take(round_up_to_lanes(std::max(shape.rows, shape.cols) * dim_));
    packed_ = take(shape.row_pad * dim_);
    source_rows_ = reinterpret_cast<std::byte*>(take(shape.rows * of_row));
    target_rows_ = reinterpret_cast<std::byte*>(take(shape.cols * of_row));
    global_high_ = reinterpret_cast<std::int8_t*>(take(of_row));
    global_low_ = reinterpret_cast<std::int8_t*>(take(of_row));
    packed_integers_ = take(shape.row_pad * of_row);
    source_scales_ = take(shape.row_pad);
    offsets_ = reinterpret_cast<std::int32_t*>(take(shape.row_pad));
    sums_ = reinterpret_cast<std::int32_t*>(take(shape.cols * shape.row_pad));
    products_ = reinterpret_cast<std::int32_t*>(take(shape.col_pad));
    target_scales_ = take(shape.col_pad);
    some_terms_ = take(shape.cols * shape.row_pad);
    std::fill_n(source_scales_, shape.row_pad, 0.0f);
    std::fill_n(offsets_, shape.row_pad, 0);
    std::fill_n(sums_, shape.cols * shape.row_pad, 0);
    // Behind the integers of a row.
    std::memset(source_rows_, 0, shape.rows * stride_);
    std::memset(target_rows_, 0, shape.cols * stride_);
    std::memset(global_high_, 0, stride_);
    std::memset(global_low_, 0, stride_);
  }

  void of_pair(const PairTask& task, const std::byte* ahead, PairBuffers& pair) {
    if (task.source.cells != source_.cells || task.source.global != source_.global) {
      take_source(task.source);
    }
    const auto* integers = static_cast<const std::int8_t*>(task.target.cells);
    std::memcpy(target_scales_, integers + shape_.cols * dim_, shape_.cols * sizeof(float));
    if (native_) {
      add_natively(integers, ahead);
    } else {
      add_in_float32(integers);
    }
    const hn::RebindToSigned<FloatTag> ints;
    for (std::size_t i = 0; i < shape_.row_pad; i += kLanes) {
      const auto offset = hn::Load(ints, offsets_ + i);
      const FloatVec scale = hn::Load(kFloat, source_scales_ + i);
      for (std::size_t j = 0; j < shape_.cols; ++j) {
        const auto sum = hn::Sub(hn::Load(ints, sums_ + j * shape_.row_pad + i), offset);
        const FloatVec scaled = hn::Mul(hn::ConvertTo(kFloat, sum), scale);
        hn::Store(hn::Mul(scaled, hn::Set(kFloat, target_scales_[j])), kFloat,
                  pair.similarity + j * shape_.row_pad + i);
      }
    }
    if (correlates_) correlate(task, integers, pair);
  }

 private:
  static std::size_t row_bytes(std::size_t dim) {
    return (dim + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  std::size_t columns() const { return round_up_to_lanes(tiled_rows_); }

  void take_source(const GridView& source) {
    source_ = source;
    const auto* integers = static_cast<const std::int8_t*>(source.cells);
    widen_all(integers, shape_.rows * dim_, widened_);
    pack(widened_, shape_, dim_, packed_);
    for (std::size_t i = 0; i < shape_.rows; ++i) source_scales_[i] = source.scale(i);
    if (!native_) return;
    for (std::size_t i = 0; i < shape_.rows; ++i) {
      std::memcpy(source_rows_ + i * stride_, integers + i * dim_, dim_);
      std::int32_t sum = 0;
      for (std::size_t d = 0; d < dim_; ++d) sum += integers[i * dim_ + d];
      offsets_[i] = kInt8Shift * sum;
    }
    pack(reinterpret_cast<const float*>(source_rows_), shape_, stride_ / sizeof(float),
         packed_integers_);
    if (correlates_) split_global(source.global);
  }

  // The source's global as integers of 15 bits, high x 128 + low, which correlations with integers
  // need. Rounds by 3e-5 of its largest number.
  void split_global(const float* global) {
    constexpr float kMost = 127.0f * 128.0f;
    float largest = 0.0f;
    for (std::size_t d = 0; d < dim_; ++d) largest = std::max(largest, std::abs(global[d]));
    global_step_ = largest / kMost;
    const float to_steps = largest > 0.0f ? kMost / largest : 0.0f;
    std::int32_t sum = 0;
    for (std::size_t d = 0; d < dim_; ++d) {
      const auto whole = static_cast<std::int32_t>(std::lrint(global[d] * to_steps));
      const std::int32_t high = (whole + 64) >> 7;
      global_high_[d] = static_cast<std::int8_t>(high);
      global_low_[d] = static_cast<std::int8_t>(whole - high * 128);
      sum += whole;
    }
    global_offset_ = kInt8Shift * sum;
  }

  // sums_[j, i] = <integers of target cell j, of source cell i> + offsets_[i].
  void add_natively(const std::int8_t* target, const std::byte* ahead) {
#if DIML_AVX512
    shift_rows(target);
    const std::byte* rows[kMostCells];
    for (std::size_t j = 0; j < shape_.cols; ++j) rows[j] = target_rows_ + j * stride_;
    dot_all<Int8Tiles>(packed_integers_, shape_.row_pad, columns(), rows, shape_.cols,
                       (dim_ + 3) / 4, reinterpret_cast<float*>(sums_), ahead);
    if (tiled_rows_ == shape_.rows) return;
    const auto* last = reinterpret_cast<const std::int8_t*>(source_rows_ + tiled_rows_ * stride_);
    int8_row_dots(target_rows_, shape_.cols, stride_, nullptr, last, products_);
    for (std::size_t j = 0; j < shape_.cols; ++j) {
      sums_[j * shape_.row_pad + tiled_rows_] = products_[j];
    }
#else
    (void)target;
    (void)ahead;
#endif
  }

  // 128 more than the integers, as bytes without a sign.
  void shift_rows(const std::int8_t* target) const {
    const hn::ScalableTag<std::uint8_t> bytes;
    const auto* from = reinterpret_cast<const std::uint8_t*>(target);
    const auto sign = hn::Set(bytes, static_cast<std::uint8_t>(kInt8Shift));
    const std::size_t whole = dim_ / hn::Lanes(bytes) * hn::Lanes(bytes);
    for (std::size_t j = 0; j < shape_.cols; ++j) {
      auto* to = reinterpret_cast<std::uint8_t*>(target_rows_ + j * stride_);
      for (std::size_t d = 0; d < whole; d += hn::Lanes(bytes)) {
        hn::StoreU(hn::Xor(hn::LoadU(bytes, from + j * dim_ + d), sign), bytes, to + d);
      }
      for (std::size_t d = whole; d < dim_; ++d) {
        to[d] = static_cast<std::uint8_t>(from[j * dim_ + d] ^ kInt8Shift);
      }
    }
  }

  // The same sums, with offsets of 0: so few terms at a time that float32 is exact.
  void add_in_float32(const std::int8_t* target) {
    widen_all(target, shape_.cols * dim_, widened_);
    const hn::RebindToSigned<FloatTag> ints;
    const float* rows[kMostCells];
    for (std::size_t first = 0; first < dim_; first += kExactTerms) {
      for (std::size_t j = 0; j < shape_.cols; ++j) rows[j] = widened_ + j * dim_ + first;
      dot_all<FloatTiles>(packed_ + first * shape_.row_pad, shape_.row_pad, shape_.row_pad, rows,
                          shape_.cols, std::min(kExactTerms, dim_ - first), some_terms_);
      for (std::size_t k = 0; k < shape_.cols * shape_.row_pad; k += kLanes) {
        const auto more = hn::ConvertTo(ints, hn::Load(kFloat, some_terms_ + k));
        const auto before = first == 0 ? hn::Zero(ints) : hn::Load(ints, sums_ + k);
        hn::Store(hn::Add(before, more), ints, sums_ + k);
      }
    }
  }

  void correlate(const PairTask& task, const std::int8_t* target, PairBuffers& pair) {
    float* source_row = pair.similarity + shape_.cols * shape_.row_pad;
    packed_dots(packed_, shape_.row_pad, task.target.global, dim_, source_row);
    for (std::size_t i = 0; i < shape_.row_pad; i += kLanes) {
      const FloatVec scale = hn::Load(kFloat, source_scales_ + i);
      hn::Store(hn::Mul(hn::Load(kFloat, source_row + i), scale), kFloat, source_row + i);
    }
#if DIML_AVX512
    if (native_ && dim_ <= kExactTerms) {
      int8_row_dots(target_rows_, shape_.cols, stride_, global_high_, global_low_, products_);
      for (std::size_t j = 0; j < shape_.cols; ++j) {
        const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(products_[j]) -
                                                   static_cast<std::uint32_t>(global_offset_));
        pair.target_marginal[j] = static_cast<float>(sum) * global_step_ * target_scales_[j];
      }
      return;
    }
#endif
    row_dots(target, shape_.cols, dim_, task.source.global, pair.target_marginal);
    for (std::size_t j = 0; j < shape_.cols; ++j) pair.target_marginal[j] *= target_scales_[j];
  }

  PairShape shape_;
  std::size_t dim_;
  std::size_t stride_;  // of a row of integers, in bytes
  bool correlates_;
  bool native_;
  std::size_t tiled_rows_;
  GridView source_{};
  float* widened_;            // [rows or cols, dim]
  float* packed_;             // [dim, row_pad], the source's integers
  std::byte* source_rows_;    // [rows, stride]
  std::byte* target_rows_;    // [cols, stride]
  std::int8_t* global_high_;  // [stride]
  std::int8_t* global_low_;   // [stride]
  float* packed_integers_;    // [stride / 4, row_pad]
  float* source_scales_;      // [row_pad]
  float* target_scales_;      // [cols]
  std::int32_t* offsets_;     // [row_pad]
  std::int32_t* sums_;        // [cols, row_pad]
  std::int32_t* products_;    // [cols]
  float* some_terms_;         // [cols, row_pad]
  float global_step_ = 0.0f;
  std::int32_t global_offset_ = 0;
};

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_INT8_SIMILARITIES_INL_H_
