#pragma once

#include <cfloat>

// Shared by all Sinkhorn loops on the GPU; the constants are those of the CPU's
// (docs/decisions/0004), so that both take the same steps.
namespace diml::cuda {

constexpr int kSweep = 4;  // iterations between two prolongations
constexpr float kLargestRatio = 0.97f;
constexpr float kLongestStep = 10.0f;
constexpr float kNoiseStep = 1e-5f;
// Between the largest and the smallest similarity, in units of lambda: beyond it float32 scalings
// could leave their range.
constexpr float kWidestRange = 80.0f;
constexpr float kNoCorrelationSum = 1e-6f;
constexpr unsigned kWholeWarp = 0xffffffffu;

// marginal / sum. The floor keeps a cell without mass at 0 instead of 0 / 0.
__device__ inline float scaling(float marginal, float sum) {
  return __fdividef(marginal, fmaxf(sum, FLT_MIN));
}

// log(later / earlier), for scalings that may be 0.
__device__ inline float log_step(float later, float earlier) {
  return __logf(__fdividef(fmaxf(later, FLT_MIN), fmaxf(earlier, FLT_MIN)));
}

// How far a step of log b is prolonged when successive steps shrink by product / square.
__device__ inline float prolongation(float product, float square) {
  constexpr float kNoise = kNoiseStep * kNoiseStep;
  if (!(square > kNoise)) return 0.0f;
  const float rho = fmaxf(fminf(__fdividef(product, square), kLargestRatio), 0.0f);
  return __fdividef(rho, 1.0f - rho);
}

__device__ inline float prolonged(float b, float step, float reach) {
  return b * __expf(fmaxf(-kLongestStep, fminf(step * reach, kLongestStep)));
}

// 2^x where neither x nor the result is extreme.
__device__ inline float exp2_in_range(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ inline float warp_sum(float value) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(kWholeWarp, value, lane);
  return value;
}

}  // namespace diml::cuda
