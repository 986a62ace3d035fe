// The similarities and correlations of pairs: in float32 for cells of any type, and with the CPU's
// own dot products for pairs of bfloat16 cells. Compiled once per SIMD target.

#if defined(DIML_SIMILARITIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_SIMILARITIES_INL_H_
#undef DIML_SIMILARITIES_INL_H_
#else
#define DIML_SIMILARITIES_INL_H_
#endif

#include "cpu/bfloat16_tile-inl.h"
#include "cpu/cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// A last source cell that would fill one lane of a vector is in no tile: lanes along d are faster.
inline std::size_t rows_in_tiles(const PairShape& shape) {
  return shape.rows % kLanes == 1 && shape.rows > kLanes ? shape.rows - 1 : shape.rows;
}

// Writes pair.similarity and, where weights come from correlations, its last row and
// pair.target_marginal. What it makes of a source is kept for the next pair of that source.
class Similarities {
 public:
  static std::size_t floats(const PairShape& shape, std::size_t dim) {
    return round_up_to_lanes(shape.rows * dim) + round_up_to_lanes(shape.cols * dim) +
           shape.row_pad * dim + 2 * round_up_to_lanes(dim) + shape.col_pad;
  }

  // sample: a pair with the types and the shape of all. memory: [floats()].
  Similarities(const PairShape& shape, const PairTask& sample, bool correlates, float* memory)
      : shape_(shape),
        dim_(sample.source.dim),
        correlates_(correlates),
        native_(sample.source.type == CellType::bfloat16 &&
                sample.target.type == CellType::bfloat16 && dim_ % 2 == 0 && has_native_bfloat16()),
        tiled_rows_(rows_in_tiles(shape)) {
    const auto take = [&memory](std::size_t count) {
      return std::exchange(memory, memory + count);
    };
    source_scratch_ = take(round_up_to_lanes(shape.rows * dim_));
    target_scratch_ = take(round_up_to_lanes(shape.cols * dim_));
    packed_ = take(shape.row_pad * dim_);
    source_global_ = reinterpret_cast<BFloat16*>(take(round_up_to_lanes(dim_)));
    target_global_ = reinterpret_cast<BFloat16*>(take(round_up_to_lanes(dim_)));
    products_ = take(shape.col_pad);
  }

  // ahead: memory that is needed next, prefetched meanwhile: targets are anywhere in a gallery
  // larger than the caches. May be null.
  void of_pair(const PairTask& task, const std::byte* ahead, PairBuffers& pair) {
    const bool same = task.source.cells == source_.cells && task.source.global == source_.global;
    source_ = task.source;
#if DIML_AVX512
    if (native_) return of_bfloat16(task, same, ahead, pair);
#endif
    of_float32(task, same, ahead, pair);
  }

 private:
  std::size_t columns() const { return round_up_to_lanes(tiled_rows_); }
  float* global_row(const PairBuffers& pair) const {
    return pair.similarity + shape_.cols * shape_.row_pad;
  }

  // Of the source cell that is in no tile.
  void put_last_source(const float* products, PairBuffers& pair) const {
    for (std::size_t j = 0; j < shape_.cols; ++j) {
      pair.similarity[j * shape_.row_pad + tiled_rows_] = products[j];
    }
  }

  void of_float32(const PairTask& task, bool same, const std::byte* ahead, PairBuffers& pair) {
    if (!same) {
      source_cells_ = widen(task.source, source_scratch_);
      pack(source_cells_, shape_, dim_, packed_);
    }
    const float* cells = widen(task.target, target_scratch_);
    const float* rows[kMostCells + 1];
    for (std::size_t j = 0; j < shape_.cols; ++j) rows[j] = cells + j * dim_;
    rows[shape_.cols] = task.target.global;
    const std::size_t row_count = shape_.cols + (correlates_ ? 1 : 0);
    dot_all<FloatTiles>(packed_, shape_.row_pad, columns(), rows, row_count, dim_, pair.similarity,
                        ahead);
    if (tiled_rows_ < shape_.rows) {
      const float* last = source_cells_ + tiled_rows_ * dim_;
      row_dots(cells, shape_.cols, dim_, last, products_);
      put_last_source(products_, pair);
      if (correlates_) row_dots(last, 1, dim_, task.target.global, global_row(pair) + tiled_rows_);
    }
    if (correlates_) {
      row_dots(cells, shape_.cols, dim_, task.source.global, pair.target_marginal);
    }
  }

#if DIML_AVX512
  // On bfloat16 cells as stored. The globals are rounded to bfloat16.
  void of_bfloat16(const PairTask& task, bool same, const std::byte* ahead, PairBuffers& pair) {
    const std::size_t of_row = dim_ * sizeof(BFloat16);
    const auto* source = static_cast<const std::byte*>(task.source.cells);
    const auto* cells = static_cast<const std::byte*>(task.target.cells);
    const auto* source_global = reinterpret_cast<const std::byte*>(source_global_);
    const auto* global = reinterpret_cast<const std::byte*>(target_global_);
    if (!same) {
      pack(static_cast<const float*>(task.source.cells), shape_, dim_ / 2, packed_);
      if (correlates_) round_to_bfloat16(task.source.global, dim_, source_global_);
    }
    if (correlates_) round_to_bfloat16(task.target.global, dim_, target_global_);
    const std::byte* rows[kMostCells + 1];
    for (std::size_t j = 0; j < shape_.cols; ++j) rows[j] = cells + j * of_row;
    rows[shape_.cols] = global;
    const std::size_t row_count = shape_.cols + (correlates_ ? 1 : 0);
    dot_all<Bfloat16Tiles>(packed_, shape_.row_pad, columns(), rows, row_count, dim_ / 2,
                           pair.similarity, ahead);
    if (tiled_rows_ < shape_.rows) {
      const std::byte* last = source + tiled_rows_ * of_row;
      bfloat16_row_dots(cells, shape_.cols, dim_, last, products_);
      put_last_source(products_, pair);
      if (correlates_) bfloat16_row_dots(last, 1, dim_, global, global_row(pair) + tiled_rows_);
    }
    if (correlates_) {
      bfloat16_row_dots(cells, shape_.cols, dim_, source_global, pair.target_marginal);
    }
  }
#endif  // DIML_AVX512

  PairShape shape_;
  std::size_t dim_;
  bool correlates_;
  bool native_;
  std::size_t tiled_rows_;
  GridView source_{};
  const float* source_cells_ = nullptr;  // as float32
  float* source_scratch_;                // [rows, dim]
  float* target_scratch_;                // [cols, dim]
  float* packed_;                        // [dim, row_pad]
  BFloat16* source_global_;              // [dim]
  BFloat16* target_global_;              // [dim]
  float* products_;                      // [cols]
};

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_SIMILARITIES_INL_H_
