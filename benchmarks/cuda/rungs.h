#pragma once

#include "pair_work.h"

// Earlier ways to match on a card, kept so that what each idea brings can be measured. Float32
// cells of 4 x 4 x 128, plain Sinkhorn.
namespace diml::cuda {

// A thread a pair: everything in its own local memory.
void launch_thread_a_pair(const PairWork& work, cudaStream_t stream);

// A warp a pair: similarities on the ordinary cores, K in registers, sums by shuffles.
void launch_warp_a_pair(const PairWork& work, cudaStream_t stream);

}  // namespace diml::cuda
