// Dot products of bfloat16 cells with the CPU's own instruction, two products per lane and step:
// half the time of float32. Highway has no target for it yet, so it is written for AVX-512 by hand
// and checked for at run time. Compiled once per SIMD target.

#if defined(DIML_BFLOAT16_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_BFLOAT16_TILE_INL_H_
#undef DIML_BFLOAT16_TILE_INL_H_
#else
#define DIML_BFLOAT16_TILE_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

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

struct Bfloat16Tiles {
  using Row = const std::byte*;
  template <std::size_t V, std::size_t J>
  static constexpr auto kTile = bfloat16_tile<V, J>;
};

#else

inline bool has_native_bfloat16() { return false; }

#endif  // HWY_AVX3

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_BFLOAT16_TILE_INL_H_
