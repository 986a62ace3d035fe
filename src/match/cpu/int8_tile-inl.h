// Similarities of int8 cells. Sums of products are integers and exact, so a similarity has the same
// bits on every SIMD target: AVX-512 VNNI adds four products per lane and step, elsewhere float32
// arithmetic adds them, which is exact up to 2^24. Compiled once per SIMD target.

#if defined(DIML_INT8_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DIML_INT8_TILE_INL_H_
#undef DIML_INT8_TILE_INL_H_
#else
#define DIML_INT8_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {

// 127 x 127 x 1024 < 2^24: so many products are added exactly in float32.
constexpr std::size_t kExactTerms = 1024;

// One factor of VNNI's products has no sign: this is added to a target's integers.
constexpr std::int32_t kInt8Shift = 128;

#if DIML_AVX512

inline bool has_int8_dot_products() {
  static const bool has = __builtin_cpu_supports("avx512vnni");
  return has;
}

// As dot_tile, with four int8 in each element of packed ([quarter_dim, stride]) and, with
// kInt8Shift added, of the rows. out: int32.
template <std::size_t V, std::size_t J>
__attribute__((target("avx512vnni"))) HWY_NOINLINE void int8_tile(
    const float* HWY_RESTRICT packed, std::size_t stride, const std::byte* const* HWY_RESTRICT rows,
    std::size_t quarter_dim, float* HWY_RESTRICT out, std::size_t out_stride,
    const std::byte* HWY_RESTRICT ahead) {
  __m512i sums[J][V];
  HWY_UNROLL(17)
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t v = 0; v < V; ++v) sums[j][v] = _mm512_setzero_si512();
  }
  for (std::size_t d = 0; d < quarter_dim; ++d) {
    if (ahead) hwy::Prefetch(ahead + d * kCacheLine);
    __m512i columns[V];
    for (std::size_t v = 0; v < V; ++v) {
      columns[v] = _mm512_castps_si512(_mm512_load_ps(packed + d * stride + v * kLanes));
    }
    HWY_UNROLL(17)
    for (std::size_t j = 0; j < J; ++j) {
      std::int32_t four;
      std::memcpy(&four, rows[j] + d * sizeof(four), sizeof(four));
      const __m512i value = _mm512_set1_epi32(four);
      for (std::size_t v = 0; v < V; ++v) {
        sums[j][v] = _mm512_dpbusd_epi32(sums[j][v], value, columns[v]);
      }
    }
  }
  HWY_UNROLL(17)
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t v = 0; v < V; ++v) {
      _mm512_store_ps(out + j * out_stride + v * kLanes, _mm512_castsi512_ps(sums[j][v]));
    }
  }
}

struct Int8Tiles {
  using Row = const std::byte*;
  template <std::size_t V, std::size_t J>
  static constexpr auto kTile = int8_tile<V, J>;
};

// Partial sums of <row, values>, where the row has kInt8Shift added. stride: a multiple of a
// vector's bytes; values are 0 behind the last.
__attribute__((target("avx512vnni"))) inline __m512i int8_row_sum(const std::byte* row,
                                                                  std::size_t stride,
                                                                  const std::int8_t* values) {
  __m512i sum = _mm512_setzero_si512();
  for (std::size_t d = 0; d < stride; d += sizeof(__m512i)) {
    sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(row + d), _mm512_loadu_si512(values + d));
  }
  return sum;
}

// Four rows' sums of lanes.
inline __m128i int8_sums_of_four(const __m512i* sums) {
  const __m512i low = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[0], sums[1]),
                                       _mm512_unpackhi_epi32(sums[0], sums[1]));
  const __m512i high = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[2], sums[3]),
                                        _mm512_unpackhi_epi32(sums[2], sums[3]));
  const __m512i blocks =
      _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
  const __m256i halves =
      _mm256_add_epi32(_mm512_castsi512_si256(blocks), _mm512_extracti64x4_epi64(blocks, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

// out[r] = 128 x <rows[r], high> + <rows[r], low>, modulo 2^32. high may be null.
__attribute__((target("avx512vnni"))) inline void int8_row_dots(
    const std::byte* rows, std::size_t count, std::size_t stride, const std::int8_t* high,
    const std::int8_t* low, std::int32_t* out) {
  for (std::size_t first = 0; first < count; first += 4) {
    const std::size_t group = std::min<std::size_t>(4, count - first);
    __m512i sums[4];
    for (std::size_t r = 0; r < 4; ++r) {
      // Rows past the end repeat the last one.
      const std::byte* row = rows + (first + std::min(r, group - 1)) * stride;
      sums[r] = int8_row_sum(row, stride, low);
      if (!high) continue;
      const __m512i upper = int8_row_sum(row, stride, high);
      sums[r] = _mm512_add_epi32(sums[r], _mm512_slli_epi32(upper, 7));
    }
    std::int32_t totals[4];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(totals), int8_sums_of_four(sums));
    std::copy_n(totals, group, out + first);
  }
}

#else

inline bool has_int8_dot_products() { return false; }

#endif  // DIML_AVX512

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIML_INT8_TILE_INL_H_
