#pragma once

#include <cstddef>

#include "pair_work.h"

namespace diml::cuda {

// Most shared memory that a block may have on the current device.
std::size_t most_shared_memory();

// Compute capability of the current device, 90 for 9.0.
int compute_capability();

// Grants the kernel its shared memory on the current device. Returns how many blocks the whole GPU
// can hold at the same time.
std::size_t resident_blocks(const void* kernel, int threads, std::size_t shared);

// As many blocks as there is work for, no more than are resident: kernels loop over what is left.
template <class Kernel>
unsigned blocks_for(Kernel* kernel, int threads, std::size_t shared, std::size_t needed) {
  const std::size_t resident =
      resident_blocks(reinterpret_cast<const void*>(kernel), threads, shared);
  return static_cast<unsigned>(needed < resident ? needed : resident);
}

// Whether both sides are grids of `cells` x `dim` in one cell type that the tensor cores can take
// from memory as they lie, with a lambda at which no pair of unit cells leaves float32's range.
bool suits_tensor_cores(const PairWork& work, std::size_t cells, std::size_t dim);

}  // namespace diml::cuda
