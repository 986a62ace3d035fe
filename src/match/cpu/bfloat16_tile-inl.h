// Dot products of bfloat16 cells with the CPU's own instruction, two products per lane and step:
// half the time of float32. Highway has no target for it yet, so it is written for AVX-512 by hand
// and checked for at run time. Compiled once per SIMD target.

#if defined(DIML_BFLOAT16_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_BFLOAT16_TILE_INL_H_
#undef DIML_BFLOAT16_TILE_INL_H_
#else
#define DIML_BFLOAT16_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/cells-inl.h"
#include "cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

#if DIML_AVX512

inline bool has_native_bfloat16() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}

// As dot_tile, with two bfloat16 in each element of packed ([half_dim, stride]) and of the rows
// ([half_dim]).
template <std::size_t V, std::size_t J>
__attribute__((target("avx512bf16"))) HWY_NOINLINE void bfloat16_tile(
    const float* HWY_RESTRICT packed, std::size_t stride, const std::byte* const* HWY_RESTRICT rows,
    std::size_t half_dim, float* HWY_RESTRICT out, std::size_t out_stride,
    const std::byte* HWY_RESTRICT ahead) {
  __m512 sums[J][V];
  HWY_UNROLL(17)
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t v = 0; v < V; ++v) sums[j][v] = _mm512_setzero_ps();
  }
  for (std::size_t d = 0; d < half_dim; ++d) {
    if (ahead) hwy::Prefetch(ahead + d * kCacheLine);
    __m512i columns[V];
    for (std::size_t v = 0; v < V; ++v) {
      columns[v] = _mm512_castps_si512(_mm512_load_ps(packed + d * stride + v * kLanes));
    }
    HWY_UNROLL(17)
    for (std::size_t j = 0; j < J; ++j) {
      std::int32_t two;
      std::memcpy(&two, rows[j] + d * sizeof(two), sizeof(two));
      const __m512i value = _mm512_set1_epi32(two);
      for (std::size_t v = 0; v < V; ++v) {
        sums[j][v] = _mm512_dpbf16_ps(sums[j][v], reinterpret_cast<__m512bh>(columns[v]),
                                      reinterpret_cast<__m512bh>(value));
      }
    }
  }
  HWY_UNROLL(17)
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t v = 0; v < V; ++v)
      _mm512_store_ps(out + j * out_stride + v * kLanes, sums[j][v]);
  }
}

constexpr std::size_t kBfloat16s = 2 * kLanes;  // in a vector

// The next vector of `left` bfloat16, zero behind the last.
HWY_INLINE __m512i load_bfloat16s(const std::byte* from, std::size_t left) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << std::min(left, kBfloat16s)) - 1);
  return _mm512_maskz_loadu_epi16(mask, from);
}

// out[r] = <rows[r], vector>, lanes along d; rows: [count, dim], vector: [dim], of bfloat16.
__attribute__((target("avx512bf16"))) inline void bfloat16_row_dots(const std::byte* rows,
                                                                    std::size_t count,
                                                                    std::size_t dim,
                                                                    const std::byte* vector,
                                                                    float* out) {
  for (std::size_t first = 0; first < count; first += 4) {
    const std::size_t group = std::min<std::size_t>(4, count - first);
    FloatVec sums[4];
    for (std::size_t r = 0; r < 4; ++r) {
      // Rows past the end repeat the last one.
      const std::byte* row = rows + (first + std::min(r, group - 1)) * dim * sizeof(BFloat16);
      __m512 sum = _mm512_setzero_ps();
      for (std::size_t d = 0; d < dim; d += kBfloat16s) {
        const __m512i x = load_bfloat16s(row + d * sizeof(BFloat16), dim - d);
        const __m512i y = load_bfloat16s(vector + d * sizeof(BFloat16), dim - d);
        sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
      }
      sums[r].raw = sum;
    }
    float totals[4];
    sums_of_four(sums, totals);
    std::copy_n(totals, group, out + first);
  }
}

// As to_bfloat16 for numbers that are finite.
inline void round_to_bfloat16(const float* from, std::size_t count, BFloat16* to) {
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    const __m512i bits = _mm512_loadu_si512(from + k);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, up), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + k), _mm512_cvtepi32_epi16(rounded));
  }
  for (; k < count; ++k) to[k] = to_bfloat16(from[k]);
}

struct Bfloat16Tiles {
  using Row = const std::byte*;
  template <std::size_t V, std::size_t J>
  static constexpr auto kTile = bfloat16_tile<V, J>;
};

#else

inline bool has_native_bfloat16() { return false; }

#endif  // DIML_AVX512

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_BFLOAT16_TILE_INL_H_
