// Dot products of many vectors with many vectors: the arithmetic under the similarities and the
// first stage. Compiled once per SIMD target. One lane holds one dot product, summed over d in
// order, so a dot product has the same bits wherever in a tile or batch it is computed.

#if defined(DIML_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_TILE_INL_H_
#undef DIML_TILE_INL_H_
#else
#define DIML_TILE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

constexpr FloatTag kFloat;
constexpr std::size_t kLanes = hn::MaxLanes(kFloat);
// A better target has a lower number: newer versions of Highway have more of them.
#undef DIML_AVX512
#define DIML_AVX512 (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)
constexpr bool kManyRegisters = DIML_AVX512 || HWY_ARCH_ARM_A64;
// Accumulators of a tile: as many as leave room for the operands in the register file.
constexpr std::size_t kTileBudget = kManyRegisters ? 24 : 12;
constexpr std::size_t kWidestTile = kManyRegisters ? 4 : 2;  // vectors

constexpr std::size_t kCacheLine = 64;

constexpr std::size_t round_up_to_lanes(std::size_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

// packed: [dim, stride], a vector per column. rows: J pointers to [dim].
// out[j * out_stride + column] = <rows[j], column> for V vectors of columns.
// ahead: memory that is needed next, prefetched one cache line per d; may be null.
template <std::size_t V, std::size_t J>
HWY_NOINLINE void dot_tile(const float* HWY_RESTRICT packed, std::size_t stride,
                           const float* const* HWY_RESTRICT rows, std::size_t dim,
                           float* HWY_RESTRICT out, std::size_t out_stride,
                           const std::byte* ahead) {
  // With many rows their pointers do not fit into registers: taking several d at a time amortises
  // the reloads.
  constexpr std::size_t kUnroll = V == 1 && J > 6 && kManyRegisters ? 8 : (V == 1 ? 2 : 1);
  FloatVec sums[J][V];
  HWY_UNROLL(17)
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t v = 0; v < V; ++v) sums[j][v] = hn::Zero(kFloat);
  }
  std::size_t d = 0;
  for (; d + kUnroll <= dim; d += kUnroll) {
    FloatVec columns[kUnroll][V];
    for (std::size_t u = 0; u < kUnroll; ++u) {
      for (std::size_t v = 0; v < V; ++v) {
        columns[u][v] = hn::Load(kFloat, packed + (d + u) * stride + v * kLanes);
      }
      if (ahead) hwy::Prefetch(ahead + (d + u) * kCacheLine);
    }
    HWY_UNROLL(17)
    for (std::size_t j = 0; j < J; ++j) {
      const float* HWY_RESTRICT row = rows[j] + d;
      HWY_UNROLL(8)
      for (std::size_t u = 0; u < kUnroll; ++u) {
        const FloatVec value = hn::Set(kFloat, row[u]);
        HWY_UNROLL(4)
        for (std::size_t v = 0; v < V; ++v) {
          sums[j][v] = hn::MulAdd(value, columns[u][v], sums[j][v]);
        }
      }
    }
  }
  for (; d < dim; ++d) {
    for (std::size_t j = 0; j < J; ++j) {
      const FloatVec value = hn::Set(kFloat, rows[j][d]);
      for (std::size_t v = 0; v < V; ++v) {
        sums[j][v] =
            hn::MulAdd(value, hn::Load(kFloat, packed + d * stride + v * kLanes), sums[j][v]);
      }
    }
  }
  HWY_UNROLL(17)
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t v = 0; v < V; ++v) {
      hn::Store(sums[j][v], kFloat, out + j * out_stride + v * kLanes);
    }
  }
}

struct FloatTiles {
  using Row = const float*;
  template <std::size_t V, std::size_t J>
  static constexpr auto kTile = dot_tile<V, J>;
};

template <class Tiles, std::size_t V, std::size_t... J>
auto pick_tile(std::size_t rows, std::index_sequence<J...>) {
  static constexpr decltype(Tiles::template kTile<V, 1>) kTable[] = {
      Tiles::template kTile<V, J + 1>...};
  return kTable[rows - 1];
}

// V vectors of columns against any number of rows.
template <class Tiles, std::size_t V>
void dot_columns(const float* packed, std::size_t stride, const typename Tiles::Row* rows,
                 std::size_t row_count, std::size_t dim, float* out, std::size_t out_stride,
                 const std::byte* ahead) {
  // One vector wide, 17 rows: the 16 cells of a 4 x 4 grid and its global go in one tile.
  constexpr std::size_t kMostRows =
      V == 1 ? std::min<std::size_t>(kTileBudget, 17) : kTileBudget / V;
  const std::size_t tiles = (row_count + kMostRows - 1) / kMostRows;
  for (std::size_t t = 0, first = 0; t < tiles; ++t) {
    const std::size_t last =
        row_count * (t + 1) / tiles;  // balanced: no tile is left with a single row
    pick_tile<Tiles, V>(last - first, std::make_index_sequence<kMostRows>())(
        packed, stride, rows + first, dim, out + first * out_stride, out_stride,
        t == 0 ? ahead : nullptr);
    first = last;
  }
}

// out[j * stride + column] = <rows[j], column> for `columns` columns (a multiple of kLanes).
template <class Tiles>
void dot_all(const float* packed, std::size_t stride, std::size_t columns,
             const typename Tiles::Row* rows, std::size_t row_count, std::size_t dim, float* out,
             const std::byte* ahead = nullptr) {
  std::size_t column = 0;
  const auto tiles = [&](auto vectors) HWY_ATTR {
    constexpr std::size_t kVectors = vectors();
    for (; column + kVectors * kLanes <= columns; column += kVectors * kLanes) {
      dot_columns<Tiles, kVectors>(packed + column, stride, rows, row_count, dim, out + column,
                                   stride, ahead);
      ahead = nullptr;
    }
  };
  if constexpr (kWidestTile == 4) {
    tiles(std::integral_constant<std::size_t, 4>());
    tiles(std::integral_constant<std::size_t, 3>());
  }
  tiles(std::integral_constant<std::size_t, 2>());
  tiles(std::integral_constant<std::size_t, 1>());
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_TILE_INL_H_
