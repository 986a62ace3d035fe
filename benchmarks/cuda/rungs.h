#pragma once

#include "pair_work.h"

// Earlier kernels for matching on a GPU, kept to measure the gain of each idea. Float32
// cells of 4 x 4 x 128, plain Sinkhorn.
namespace diml::cuda {

// One thread per pair: everything in its own local memory.
void launch_thread_a_pair(const PairWork& work, cudaStream_t stream);

// One warp per pair: similarities on the ordinary cores, K in registers, sums by shuffles.
void launch_warp_a_pair(const PairWork& work, cudaStream_t stream);

}  // namespace diml::cuda
