#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "match/match_on_device.h"

namespace diml::cuda {

// The argument of every kernel, by value.
struct PairWork {
  DeviceGrids sources;
  DeviceGrids targets;
  const Pair* pairs;  // null: pair k is (k / targets.size, k % targets.size)
  std::size_t count;
  MarginalRule marginals;
  float lambda;
  float tolerance;
  int max_iterations;
  DeviceOutputs outputs;

#ifdef __CUDACC__
  __device__ Pair pair(std::size_t k) const {
    if (pairs) return pairs[k];
    return {static_cast<std::int64_t>(k / targets.size),
            static_cast<std::int64_t>(k % targets.size)};
  }
#endif
};

// Any shape, any lambda: one block of threads per pair, the kernel matrix in shared memory.
void launch_match_any(const PairWork& work, cudaStream_t stream);

// 4 x 4 cells of 128 dimensions: eight pairs per warp, similarities from the tensor cores.
bool suits_match_16(const PairWork& work);
void launch_match_16(const PairWork& work, cudaStream_t stream);

// 7 x 7 cells of 128 dimensions: two warps per pair, similarities from the tensor cores.
bool suits_match_49(const PairWork& work);
void launch_match_49(const PairWork& work, cudaStream_t stream);

}  // namespace diml::cuda
