// How stored cells become numbers in vectors: widened, packed, multiplied by a global vector.
// Compiled once per SIMD target.

#if defined(DIML_CELLS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_CELLS_INL_H_
#undef DIML_CELLS_INL_H_
#else
#define DIML_CELLS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/pair_buffers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// A vector of cell values from `k` on, as float32; of int8 cells without their scale.
HWY_INLINE FloatVec load_cells(const float* cells, std::size_t k) {
  return hn::LoadU(kFloat, cells + k);
}
template <class Half>
HWY_INLINE FloatVec load_cells(const Half* cells, std::size_t k) {
  return hn::PromoteTo(kFloat, hn::LoadU(hn::Rebind<Half, FloatTag>(), cells + k));
}
HWY_INLINE FloatVec load_cells(const std::int8_t* cells, std::size_t k) {
  const hn::RebindToSigned<FloatTag> ints;
  const auto bytes = hn::LoadU(hn::Rebind<std::int8_t, FloatTag>(), cells + k);
  return hn::ConvertTo(kFloat, hn::PromoteTo(ints, bytes));
}
HWY_INLINE float load_cell(const float* cells, std::size_t k) { return cells[k]; }
HWY_INLINE float load_cell(const std::int8_t* cells, std::size_t k) { return cells[k]; }
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

template <class Cell>
void widen_all(const Cell* cells, std::size_t count, float* out) {
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) hn::StoreU(load_cells(cells, k), kFloat, out + k);
  for (; k < count; ++k) out[k] = load_cell(cells, k);
}

// Cells as float32: the stored ones where they are float32 already, else widened into `scratch`.
inline const float* widen(const GridView& grid, float* scratch) {
  const std::size_t count = grid.count * grid.dim;
  switch (grid.type) {
    case CellType::float16:
      widen_all(static_cast<const hwy::float16_t*>(grid.cells), count, scratch);
      return scratch;
    case CellType::bfloat16:
      widen_all(static_cast<const hwy::bfloat16_t*>(grid.cells), count, scratch);
      return scratch;
    case CellType::int8:
      widen_all(static_cast<const std::int8_t*>(grid.cells), count, scratch);
      for (std::size_t i = 0; i < grid.count; ++i) {
        const float scale = grid.scale(i);
        for (std::size_t d = 0; d < grid.dim; ++d) scratch[i * grid.dim + d] *= scale;
      }
      return scratch;
    default:
      return static_cast<const float*>(grid.cells);
  }
}

// out[r] = sum of the lanes of sums[r].
HWY_INLINE void sums_of_four(const FloatVec* sums, float* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t r = 0; r < 4; ++r) out[r] = hn::GetLane(sums[r]);
#else
  const hn::RepartitionToWide<FloatTag> pairs;
  const auto low = hn::Add(hn::InterleaveLower(kFloat, sums[0], sums[1]),
                           hn::InterleaveUpper(kFloat, sums[0], sums[1]));
  const auto high = hn::Add(hn::InterleaveLower(kFloat, sums[2], sums[3]),
                            hn::InterleaveUpper(kFloat, sums[2], sums[3]));
  const auto lower = hn::InterleaveLower(pairs, hn::BitCast(pairs, low), hn::BitCast(pairs, high));
  const auto upper = hn::InterleaveUpper(pairs, hn::BitCast(pairs, low), hn::BitCast(pairs, high));
  // Each block of four lanes has a part of the four sums.
  const auto blocks = hn::Add(hn::BitCast(kFloat, lower), hn::BitCast(kFloat, upper));
  HWY_ALIGN float parts[kLanes];
  hn::Store(blocks, kFloat, parts);
  const hn::FixedTag<float, 4> four;
  auto total = hn::Load(four, parts);
  for (std::size_t k = 4; k < kLanes; k += 4) total = hn::Add(total, hn::Load(four, parts + k));
  hn::StoreU(total, four, out);
#endif
}

// out[r] = <rows[r], vector>, lanes along d.
template <class Cell>
void row_dots(const Cell* rows, std::size_t count, std::size_t dim, const float* vector,
              float* out) {
  constexpr std::size_t kTogether = 4;
  for (std::size_t first = 0; first < count; first += kTogether) {
    const std::size_t group = std::min(kTogether, count - first);
    FloatVec sums[kTogether];
    for (FloatVec& sum : sums) sum = hn::Zero(kFloat);
    std::size_t d = 0;
    for (; d + kLanes <= dim; d += kLanes) {
      const FloatVec value = hn::LoadU(kFloat, vector + d);
      for (std::size_t r = 0; r < kTogether; ++r) {
        // Rows past the end repeat the last one: no branch inside, results unused.
        const std::size_t row = (first + std::min(r, group - 1)) * dim;
        sums[r] = hn::MulAdd(load_cells(rows, row + d), value, sums[r]);
      }
    }
    float totals[kTogether];
    sums_of_four(sums, totals);
    for (std::size_t r = 0; r < group; ++r) {
      float sum = totals[r];
      for (std::size_t tail = d; tail < dim; ++tail) {
        sum += load_cell(rows, (first + r) * dim + tail) * vector[tail];
      }
      out[first + r] = sum;
    }
  }
}

// source: [rows, dim] -> packed: [dim, row_pad], zero in the padding. Moves bits: an element may be
// two bfloat16 or four int8.
inline void pack(const float* source, const PairShape& shape, std::size_t dim, float* packed) {
  const std::size_t rows4 = shape.rows / 4 * 4;
  const std::size_t dims4 = dim / 4 * 4;
  transpose(source, dim, rows4, dims4, packed, shape.row_pad);
  if (rows4 == shape.row_pad && dims4 == dim) return;
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t i = d < dims4 ? rows4 : 0; i < shape.rows; ++i) {
      std::memcpy(&packed[d * shape.row_pad + i], &source[i * dim + d], sizeof(float));
    }
    std::fill(packed + d * shape.row_pad + shape.rows, packed + (d + 1) * shape.row_pad, 0.0f);
  }
}

// out[i] = <row, column i of packed>: one row alone, in four strands to hide latency.
inline void packed_dots(const float* HWY_RESTRICT packed, std::size_t row_pad,
                        const float* HWY_RESTRICT row, std::size_t dim, float* HWY_RESTRICT out) {
  for (std::size_t i = 0; i < row_pad; i += kLanes) {
    FloatVec sums[4];
    for (FloatVec& sum : sums) sum = hn::Zero(kFloat);
    std::size_t d = 0;
    for (; d + 4 <= dim; d += 4) {
      for (std::size_t k = 0; k < 4; ++k) {
        const FloatVec column = hn::Load(kFloat, packed + (d + k) * row_pad + i);
        sums[k] = hn::MulAdd(hn::Set(kFloat, row[d + k]), column, sums[k]);
      }
    }
    for (; d < dim; ++d) {
      const FloatVec column = hn::Load(kFloat, packed + d * row_pad + i);
      sums[0] = hn::MulAdd(hn::Set(kFloat, row[d]), column, sums[0]);
    }
    hn::Store(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])), kFloat, out + i);
  }
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_CELLS_INL_H_
