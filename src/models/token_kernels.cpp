#include "token_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/threads.h"
#include "diml/error.h"

// One version for each generation of x86, chosen when the program starts. Sanitizers start too late
// for such a choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DIML_FOR_EACH_CPU \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define DIML_FOR_EACH_CPU
#endif

namespace diml {
namespace {

constexpr std::size_t kRowsAtOnce = 16;
constexpr std::size_t kScoresAtOnce = 48 * 1024;  // floats; half of a small second-level cache

// Without branches, so that the compiler makes vectors of it; relative error below 3e-7. exp(x) =
// 2^n exp(y) with |y| at most ln(2) / 2, of which seven terms of the series are enough.
inline float exponential(float x) {
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const float bounded = std::min(std::max(x, -87.0F), 88.0F);
  const float shifted = bounded * kLog2E + kRounder;
  const float whole = shifted - kRounder;
  const float y = (bounded - whole * kLn2High) - whole * kLn2Low;
  float series = 1.0F / 5040.0F;
  series = series * y + 1.0F / 720.0F;
  series = series * y + 1.0F / 120.0F;
  series = series * y + 1.0F / 24.0F;
  series = series * y + 1.0F / 6.0F;
  series = series * y + 0.5F;
  series = series * y + 1.0F;
  series = series * y + 1.0F;
  const auto power = (std::bit_cast<std::uint32_t>(shifted) << 23U) + (127U << 23U);
  return series * std::bit_cast<float>(power);
}

DIML_FOR_EACH_CPU
void softmax_rows(float* scores, std::size_t rows, std::size_t count) {
  for (std::size_t r = 0; r < rows; ++r) {
    float* row = scores + r * count;
    float largest = row[0];
#pragma omp simd reduction(max : largest)
    for (std::size_t k = 0; k < count; ++k) largest = std::max(largest, row[k]);
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < count; ++k) {
      row[k] = exponential(row[k] - largest);
      sum += row[k];
    }
    const float factor = 1.0F / sum;
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) row[k] *= factor;
  }
}

DIML_FOR_EACH_CPU
void normalise_row(const float* from, std::size_t width, const float* scale, const float* shift,
                   double epsilon, float* to) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (std::size_t c = 0; c < width; ++c) sum += from[c];
  const float mean = sum / static_cast<float>(width);
  float squares = 0.0F;
#pragma omp simd reduction(+ : squares)
  for (std::size_t c = 0; c < width; ++c) squares += (from[c] - mean) * (from[c] - mean);
  const auto factor = static_cast<float>(
      1.0 / std::sqrt(static_cast<double>(squares) / static_cast<double>(width) + epsilon));
#pragma omp simd
  for (std::size_t c = 0; c < width; ++c) to[c] = (from[c] - mean) * factor * scale[c] + shift[c];
}

DIML_FOR_EACH_CPU
void gate_row(const float* from, std::size_t width, float* to) {
#pragma omp simd
  for (std::size_t c = 0; c < width; ++c) {
    to[c] = from[c] / (1.0F + exponential(-from[c])) * from[width + c];
  }
}

void multiply(char transposed, std::size_t rows, std::size_t columns, std::size_t depth,
              float factor, const float* a, std::size_t a_stride, const float* b,
              std::size_t b_stride, float* c, std::size_t c_stride) {
  const auto dim = [](std::size_t value) { return static_cast<dnnl_dim_t>(value); };
  const dnnl_status_t status =
      dnnl_sgemm('N', transposed, dim(rows), dim(columns), dim(depth), factor, a, dim(a_stride), b,
                 dim(b_stride), 0.0F, c, dim(c_stride));
  if (status != dnnl_success) {
    throw Error(ErrorKind::internal, "oneDNN cannot multiply the matrices of an attention");
  }
}

}  // namespace

void normalise_rows(const float* from, std::size_t rows, std::span<const float> scale,
                    std::span<const float> shift, double epsilon, int threads, float* to) {
  const std::size_t width = scale.size();
  parallel_for(rows, kRowsAtOnce, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      normalise_row(from + r * width, width, scale.data(), shift.data(), epsilon, to + r * width);
    }
  });
}

void gate_rows(const float* from, std::size_t rows, std::size_t width, int threads, float* to) {
  parallel_for(rows, kRowsAtOnce, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      gate_row(from + r * 2 * width, width, to + r * width);
    }
  });
}

void attend(const AttentionInput& in, int threads, float* result) {
  const std::size_t of_head = in.width / in.heads;
  const float factor = 1.0F / std::sqrt(static_cast<float>(of_head));
  const std::size_t rows = std::clamp<std::size_t>(kScoresAtOnce / in.key_count, 1, in.query_count);
  const std::size_t blocks = (in.query_count + rows - 1) / rows;
  const std::size_t tasks = in.batch * in.heads * blocks;
  // Each task multiplies on its own thread: oneDNN starts none within a parallel loop.
  parallel_for(tasks, 1, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<float> scores(rows * in.key_count);
    for (std::size_t task = begin; task < end; ++task) {
      const std::size_t image = task / (in.heads * blocks);
      const std::size_t head = task / blocks % in.heads;
      const std::size_t first = task % blocks * rows;
      const std::size_t count = std::min(rows, in.query_count - first);
      const std::size_t column = head * of_head;
      const std::size_t query = image * in.query_count + first;
      const std::size_t key = image * in.key_count * in.key_stride + column;
      multiply('T', count, in.key_count, of_head, factor,
               in.queries + query * in.query_stride + column, in.query_stride, in.keys + key,
               in.key_stride, scores.data(), in.key_count);
      softmax_rows(scores.data(), count, in.key_count);
      multiply('N', count, of_head, in.key_count, 1.0F, scores.data(), in.key_count,
               in.values + key, in.key_stride, result + query * in.width + column, in.width);
    }
  });
}

}  // namespace diml
