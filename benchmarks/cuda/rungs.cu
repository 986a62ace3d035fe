#include "rungs.h"

#include "device.h"
#include "launch.h"
#include "sinkhorn.cuh"

namespace diml::cuda {
namespace {

constexpr int kCells = 16;
constexpr int kDim = 128;

__device__ void normalise(float* weights) {
  float sum = 0.0f;
  for (int i = 0; i < kCells; ++i) sum += weights[i] = fmaxf(weights[i], 0.0f);
  for (int i = 0; i < kCells; ++i) {
    weights[i] = sum > kNoCorrelationSum ? weights[i] / sum : 1.0f / kCells;
  }
}

__device__ float dot(const float* x, const float* y) {
  float sum = 0.0f;
  for (int d = 0; d < kDim; ++d) sum = fmaf(x[d], y[d], sum);
  return sum;
}

__global__ void thread_a_pair(const __grid_constant__ PairWork work) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t k = blockIdx.x * blockDim.x + threadIdx.x; k < work.count; k += stride) {
    const Pair pair = work.pair(k);
    const float* source =
        static_cast<const float*>(work.sources.cells) + pair.source * kCells * kDim;
    const float* target =
        static_cast<const float*>(work.targets.cells) + pair.target * kCells * kDim;
    float similarity[kCells][kCells];
    float kernel[kCells][kCells];
    float mu[kCells];
    float nu[kCells];
    float a[kCells] = {};
    float b[kCells];
    for (int i = 0; i < kCells; ++i) {
      mu[i] = dot(source + i * kDim, work.targets.globals + pair.target * kDim);
      nu[i] = dot(target + i * kDim, work.sources.globals + pair.source * kDim);
      b[i] = 1.0f;
      for (int j = 0; j < kCells; ++j) {
        similarity[i][j] = dot(source + i * kDim, target + j * kDim);
        kernel[i][j] = __expf(similarity[i][j] / work.lambda);
      }
    }
    normalise(mu);
    normalise(nu);
    for (int iteration = 0; iteration <= work.max_iterations; ++iteration) {
      float error = 0.0f;
      float next[kCells];
      for (int i = 0; i < kCells; ++i) {
        float sum = 0.0f;
        for (int j = 0; j < kCells; ++j) sum = fmaf(kernel[i][j], b[j], sum);
        error += fabsf(a[i] * sum - mu[i]);
        next[i] = scaling(mu[i], sum);
      }
      if (error < work.tolerance || iteration == work.max_iterations) break;
      for (int i = 0; i < kCells; ++i) a[i] = next[i];
      for (int j = 0; j < kCells; ++j) {
        float sum = 0.0f;
        for (int i = 0; i < kCells; ++i) sum = fmaf(kernel[i][j], a[i], sum);
        b[j] = scaling(nu[j], sum);
      }
    }
    float score = 0.0f;
    for (int i = 0; i < kCells; ++i) {
      for (int j = 0; j < kCells; ++j) score += a[i] * kernel[i][j] * b[j] * similarity[i][j];
    }
    work.outputs.scores[k] = score;
  }
}

// Lane l has row l / 2, columns 8 (l % 2) to 8 (l % 2) + 7.
__global__ void __launch_bounds__(128) warp_a_pair(const __grid_constant__ PairWork work) {
  constexpr int kOwn = 8;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = lane / 2;
  const int first = lane % 2 * kOwn;
  const std::size_t warps = static_cast<std::size_t>(gridDim.x) * (blockDim.x / 32);
  for (std::size_t k = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; k < work.count;
       k += warps) {
    const Pair pair = work.pair(k);
    const float* source =
        static_cast<const float*>(work.sources.cells) + (pair.source * kCells + row) * kDim;
    const float* target =
        static_cast<const float*>(work.targets.cells) + (pair.target * kCells + first) * kDim;
    const float* source_global = work.sources.globals + pair.source * kDim;
    const float* target_global = work.targets.globals + pair.target * kDim;
    float similarity[kOwn] = {};
    float nu[kOwn] = {};
    float mu = 0.0f;
    for (int d = 0; d < kDim; d += 4) {
      const float4 x = *reinterpret_cast<const float4*>(source + d);
      const float4 zs = *reinterpret_cast<const float4*>(source_global + d);
      const float4 zt = *reinterpret_cast<const float4*>(target_global + d);
      mu += x.x * zt.x + x.y * zt.y + x.z * zt.z + x.w * zt.w;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const float4 y = *reinterpret_cast<const float4*>(target + j * kDim + d);
        similarity[j] += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
        nu[j] += zs.x * y.x + zs.y * y.y + zs.z * y.z + zs.w * y.w;
      }
    }
    float mu_sum = mu = fmaxf(mu, 0.0f);
    float nu_sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) nu_sum += nu[j] = fmaxf(nu[j], 0.0f);
    mu_sum = warp_sum(mu_sum) / 2.0f;    // two lanes a row
    nu_sum = warp_sum(nu_sum) / kCells;  // sixteen lanes a column
    mu = mu_sum > kNoCorrelationSum ? mu / mu_sum : 1.0f / kCells;
    float kernel[kOwn];
    float b[kOwn];
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      nu[j] = nu_sum > kNoCorrelationSum ? nu[j] / nu_sum : 1.0f / kCells;
      kernel[j] = __expf(similarity[j] / work.lambda);
      b[j] = 1.0f;
    }
    float a = 0.0f;
    for (int iteration = 0;; ++iteration) {
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) sum = fmaf(kernel[j], b[j], sum);
      sum += __shfl_xor_sync(kWholeWarp, sum, 1);
      const float error = warp_sum(fabsf(a * sum - mu)) / 2.0f;
      if (error < work.tolerance || iteration == work.max_iterations) break;
      a = scaling(mu, sum);
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        float column = kernel[j] * a;
        for (int other = 2; other < 32; other *= 2) {
          column += __shfl_xor_sync(kWholeWarp, column, other);
        }
        b[j] = scaling(nu[j], column);
      }
    }
    float score = 0.0f;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) score += a * kernel[j] * b[j] * similarity[j];
    score = warp_sum(score);
    if (lane == 0) work.outputs.scores[k] = score;
  }
}

}  // namespace

void launch_thread_a_pair(const PairWork& work, cudaStream_t stream) {
  thread_a_pair<<<blocks_for(thread_a_pair, 128, 0, (work.count + 127) / 128), 128, 0, stream>>>(
      work);
  check(cudaGetLastError(), "start a kernel");
}

void launch_warp_a_pair(const PairWork& work, cudaStream_t stream) {
  warp_a_pair<<<blocks_for(warp_a_pair, 128, 0, (work.count + 3) / 4), 128, 0, stream>>>(work);
  check(cudaGetLastError(), "start a kernel");
}

}  // namespace diml::cuda
