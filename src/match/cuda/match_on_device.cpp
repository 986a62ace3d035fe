#include <cuda_runtime.h>

#include <string>

#include "device.h"
#include "launch.h"
#include "match/match_on_device.h"
#include "pair_work.h"

namespace diml::cuda {
namespace {

void check_shapes(const DeviceGrids& sources, const DeviceGrids& targets) {
  check_grid_shape(sources.cells_per_grid, sources.dim);
  check_grid_shape(targets.cells_per_grid, targets.dim);
  if (sources.dim != targets.dim || sources.type != targets.type) {
    throw Error("sources are " + std::to_string(sources.dim) + "-d " + name_of(sources.type) +
                " cells, targets " + std::to_string(targets.dim) + "-d " + name_of(targets.type) +
                " ones: on the GPU both must have the same dimensions and type");
  }
}

void run(const DeviceGrids& sources, const DeviceGrids& targets, const Pair* pairs,
         std::size_t count, const MatchParams& params, const DeviceOutputs& outputs,
         void* stream_handle) {
  check_params(params.transport);
  check_shapes(sources, targets);
  if (count == 0) return;
  const PairWork work{sources,
                      targets,
                      pairs,
                      count,
                      params.marginals,
                      static_cast<float>(params.transport.lambda),
                      static_cast<float>(params.transport.tolerance),
                      params.transport.max_iterations,
                      outputs};
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  if (suits_match_16(work)) return launch_match_16(work, stream);
  if (suits_match_49(work)) return launch_match_49(work, stream);
  launch_match_any(work, stream);
}

}  // namespace

DeviceScope::DeviceScope(int device) {
  check(cudaGetDevice(&before_), "name the current device");
  if (device != before_) check(cudaSetDevice(device), "be made current");
}

DeviceScope::~DeviceScope() { cudaSetDevice(before_); }

void match_on_device(const DeviceGrids& sources, const DeviceGrids& targets, const Pair* pairs,
                     std::size_t count, const MatchParams& params, const DeviceOutputs& outputs,
                     void* stream) {
  run(sources, targets, pairs, count, params, outputs, stream);
}

void match_all_on_device(const DeviceGrids& sources, const DeviceGrids& targets,
                         const MatchParams& params, const DeviceOutputs& outputs, void* stream) {
  run(sources, targets, nullptr, sources.size * targets.size, params, outputs, stream);
}

bool is_available() {
  static const bool available = [] {
    int count = 0;
    const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    cudaGetLastError();  // clears the error: a missing GPU is not an error of the next call
    return found;
  }();
  return available;
}

std::string describe_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status != cudaSuccess || count == 0) {
    return std::string("no NVIDIA GPU: ") + cudaGetErrorString(status);
  }
  cudaDeviceProp properties{};
  int device = 0;
  check(cudaGetDevice(&device), "be found");
  check(cudaGetDeviceProperties(&properties, device), "report its properties");
  return std::string(properties.name) + ", compute capability " + std::to_string(properties.major) +
         "." + std::to_string(properties.minor) + ", " +
         std::to_string(properties.totalGlobalMem >> 30) + " GiB";
}

}  // namespace diml::cuda
