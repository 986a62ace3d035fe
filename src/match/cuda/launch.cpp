#include "launch.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "device.h"

namespace diml::cuda {
namespace {

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "be found");
  check(cudaDeviceGetAttribute(&value, which, device), "report its properties");
  return value;
}

bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

}  // namespace

std::size_t most_shared_memory() {
  return static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

int compute_capability() {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
         attribute(cudaDevAttrComputeCapabilityMinor);
}

std::size_t resident_blocks(const void* kernel, int threads, std::size_t shared) {
  static std::mutex mutex;
  static std::map<std::tuple<int, const void*, int, std::size_t>, std::size_t> known;
  static std::map<std::pair<int, const void*>, std::size_t> allowed;  // to be raised, never lowered
  int device = 0;
  check(cudaGetDevice(&device), "be found");
  const std::lock_guard lock(mutex);
  std::size_t& blocks = known[{device, kernel, threads, shared}];
  if (blocks == 0) {
    if (std::size_t& most = allowed[{device, kernel}]; shared > most) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared)),
            "set up a kernel");
      most = shared;
    }
    int per_processor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, shared),
          "set up a kernel");
    if (per_processor == 0)
      throw Error(ErrorKind::unsupported,
                  "this GPU is too small for the kernel: use the cpu matcher", "matcher");
    blocks = static_cast<std::size_t>(per_processor) *
             static_cast<std::size_t>(attribute(cudaDevAttrMultiProcessorCount));
  }
  return blocks;
}

bool suits_tensor_cores(const PairWork& work, std::size_t cells, std::size_t dim) {
  const DeviceGrids& s = work.sources;
  const DeviceGrids& t = work.targets;
  constexpr float kWidestSimilarities = 2.01f;  // -1 to 1, and rounding
  constexpr float kWidestRange = 80.0f;         // in units of lambda, as everywhere
  return s.cells_per_grid == cells && t.cells_per_grid == cells && s.dim == dim && t.dim == dim &&
         s.type == t.type && is_aligned(s.cells) && is_aligned(t.cells) && is_aligned(s.globals) &&
         is_aligned(t.globals) && kWidestRange * work.lambda >= kWidestSimilarities &&
         compute_capability() >= 80;
}

}  // namespace diml::cuda
