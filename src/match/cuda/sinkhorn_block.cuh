#pragma once

#include <cfloat>
#include <cstddef>

#include "sinkhorn.cuh"

// Sinkhorn by a block of threads, K in shared memory (or wherever it fits): any shape, any lambda.
namespace diml::cuda {

constexpr int kMostThreads = 256;
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kTile = 4;
constexpr int kChunk = 32;  // dimensions in shared memory at a time

// How a block's shared memory is divided.
struct Layout {
  int rows;        // R_s
  int columns;     // R_t
  int row_pad;     // rounded up to tiles
  int column_pad;  // rounded up to tiles
  int stride;      // of the kernel matrix: odd, so that columns have no bank conflicts
  int slices;      // lanes that share a tile, each with its dimensions
  bool kernel_in_shared;

  __host__ __device__ std::size_t kernel_floats() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride);
  }
  __host__ __device__ std::size_t vector_floats() const {
    return 2 * static_cast<std::size_t>(row_pad) + 4 * static_cast<std::size_t>(column_pad);
  }
  __host__ __device__ std::size_t stage_floats() const {
    return static_cast<std::size_t>(kChunk) * static_cast<std::size_t>(row_pad + column_pad + 2);
  }
  // Potentials in double use the memory of the stage, which is no longer needed.
  __host__ __device__ std::size_t scratch_floats() const {
    const std::size_t potentials = 2 * static_cast<std::size_t>(row_pad + column_pad);
    return stage_floats() > potentials ? stage_floats() : potentials;
  }
  __host__ __device__ std::size_t shared_floats() const {
    return scratch_floats() + vector_floats() + (kernel_in_shared ? kernel_floats() : 0);
  }
};

struct Block {
  Layout layout;
  float* stage;  // [kChunk, row_pad + 1] and [kChunk, column_pad + 1], cells along the rows
  float* source_marginal;
  float* a;
  float* target_marginal;
  float* b;
  float* before;  // b one and two iterations ago
  float* earlier;
  float* kernel;  // [rows, stride]: S first, then K
};

__device__ inline float block_reduce(float value, bool largest) {
  __shared__ float partial[kMostWarps];
  for (int lane = 16; lane > 0; lane /= 2) {
    const float other = __shfl_xor_sync(kWholeWarp, value, lane);
    value = largest ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float result = partial[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) {
    result = largest ? fmaxf(result, partial[warp]) : result + partial[warp];
  }
  return result;
}
__device__ inline float block_sum(float value) { return block_reduce(value, false); }
__device__ inline float block_max(float value) { return block_reduce(value, true); }

struct End {
  int iterations;
  float error;
};

// Sinkhorn with prolonged steps, K in block.kernel.
__device__ inline End iterate(const Block& block, float tolerance, int max_iterations) {
  const Layout& layout = block.layout;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int lane = thread % 32;
  float* b = block.b;
  float* before = block.before;
  float* earlier = block.earlier;
  for (int j = thread; j < layout.columns; j += threads) b[j] = before[j] = 1.0f;
  for (int i = thread; i < layout.rows; i += threads) block.a[i] = 0.0f;
  __syncthreads();
  for (int iteration = 0;; ++iteration) {
    const bool last = iteration >= max_iterations;
    float error = 0.0f;
    for (int i = thread / 32; i < layout.rows; i += threads / 32) {
      const float* row = block.kernel + i * layout.stride;
      float sum = 0.0f;
      for (int j = lane; j < layout.columns; j += 32) sum = fmaf(row[j], b[j], sum);
      sum = warp_sum(sum);
      if (lane == 0) {
        error += fabsf(fmaf(block.a[i], sum, -block.source_marginal[i]));
        // Kept beside a until it is known whether the old a has converged.
        block.stage[i] = scaling(block.source_marginal[i], sum);
      }
    }
    error = block_sum(error);
    if (last || (iteration % kSweep != 0 && error < tolerance)) {
      for (int j = thread; j < layout.columns; j += threads) block.b[j] = b[j];
      __syncthreads();
      return {iteration, error};
    }
    for (int i = thread; i < layout.rows; i += threads) block.a[i] = block.stage[i];
    __syncthreads();
    const bool prolongs = (iteration + 1) % kSweep == 0 && iteration + 1 < max_iterations;
    float product = 0.0f;
    float square = 0.0f;
    for (int j = thread; j < layout.columns; j += threads) {
      float sum = 0.0f;
      for (int i = 0; i < layout.rows; ++i) {
        sum = fmaf(block.kernel[i * layout.stride + j], block.a[i], sum);
      }
      const float next = scaling(block.target_marginal[j], sum);
      if (prolongs) {
        const float first = log_step(b[j], before[j]);
        const float second = log_step(next, b[j]);
        product = fmaf(block.target_marginal[j] * first, second, product);
        square = fmaf(block.target_marginal[j] * first, first, square);
      }
      earlier[j] = next;
    }
    if (prolongs) {
      product = block_sum(product);
      const float reach = prolongation(product, block_sum(square));
      for (int j = thread; j < layout.columns; j += threads) {
        earlier[j] = prolonged(earlier[j], log_step(earlier[j], b[j]), reach);
      }
    }
    float* next = earlier;
    earlier = before;
    before = b;
    b = next;
    __syncthreads();
  }
}

// The reference's own iteration: logarithms in double, no prolongation. S in block.kernel; leaves
// the plan's mass there, and returns the score with the end.
__device__ inline End iterate_logarithms(const Block& block, double lambda, double tolerance,
                                         int max_iterations, float* score) {
  const Layout& layout = block.layout;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  double* f = reinterpret_cast<double*>(block.stage);
  double* g = f + layout.row_pad;
  const double scale = 1.0 / lambda;
  const auto potential = [&](int count, float marginal, auto term) {
    double largest = -INFINITY;
    for (int k = 0; k < count; ++k) largest = fmax(largest, term(k));
    if (largest == -INFINITY || marginal <= 0.0f) return static_cast<double>(-INFINITY);
    double sum = 0.0;
    for (int k = 0; k < count; ++k) sum += exp(term(k) - largest);
    return log(static_cast<double>(marginal)) - (largest + log(sum));
  };
  __syncthreads();
  for (int j = thread; j < layout.columns; j += threads) g[j] = 0.0;
  End end{0, 0.0f};
  bool converged = false;
  while (end.iterations < max_iterations && !converged) {
    __syncthreads();
    for (int i = thread; i < layout.rows; i += threads) {
      const float* row = block.kernel + i * layout.stride;
      f[i] = potential(layout.columns, block.source_marginal[i],
                       [&](int j) { return g[j] + row[j] * scale; });
    }
    __syncthreads();
    for (int j = thread; j < layout.columns; j += threads) {
      const float* column = block.kernel + j;
      g[j] = potential(layout.rows, block.target_marginal[j],
                       [&](int i) { return f[i] + column[i * layout.stride] * scale; });
    }
    __syncthreads();
    ++end.iterations;
    float error = 0.0f;
    for (int i = thread; i < layout.rows; i += threads) {
      double sum = 0.0;
      for (int j = 0; j < layout.columns; ++j) {
        sum += exp(f[i] + g[j] + block.kernel[i * layout.stride + j] * scale);
      }
      error += static_cast<float>(fabs(sum - block.source_marginal[i]));
    }
    end.error = block_sum(error);
    converged = end.error < tolerance;
  }
  float sum = 0.0f;
  for (int k = thread; k < layout.rows * layout.columns; k += threads) {
    const int i = k / layout.columns;
    const int j = k % layout.columns;
    float& entry = block.kernel[i * layout.stride + j];
    const float s = entry;
    entry = static_cast<float>(exp(f[i] + g[j] + s * scale));
    sum = fmaf(entry, s, sum);
  }
  *score = block_sum(sum);
  return end;
}

}  // namespace diml::cuda
