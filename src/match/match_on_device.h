#pragma once

#include <cstddef>
#include <string>

#include "diml/matcher.h"

// Structural matching on an NVIDIA GPU, for callers whose grids are there already. Other callers
// use make_matcher("cuda"). Plain pointers: neither CUDA's nor LibTorch's headers are needed here.
namespace diml::cuda {

// As GridSetView, in the memory of the current device.
struct DeviceGrids {
  const void* cells = nullptr;  // [size, cells_per_grid, dim] of `type`
  CellType type = CellType::float32;
  std::size_t size = 0;
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  const float* globals = nullptr;  // [size, dim]
};

// A pair's report on the device.
struct DeviceReport {
  int iterations;
  float marginal_error;
  bool converged;
  bool uniform_source;
  bool uniform_target;
  bool log_domain;
};

// Where results go, all of it device memory; null: not needed.
struct DeviceOutputs {
  float* scores = nullptr;          // [count]
  float* plans = nullptr;           // [count, R_s, R_t]
  DeviceReport* reports = nullptr;  // [count]
};

// While it exists, calls of this thread go to that GPU: for callers whose arrays name a device.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
};

// Matches the given pairs (device memory, indices within both sets). Everything is queued on
// `stream`, a cudaStream_t: the call does not wait, and a pair's result never depends on the
// others. Throws when the GPU reports an error or a parameter is out of range.
void match_on_device(const DeviceGrids& sources, const DeviceGrids& targets, const Pair* pairs,
                     std::size_t count, const MatchParams& params, const DeviceOutputs& outputs,
                     void* stream);

// Every source against every target: pair k is (k / targets.size, k % targets.size).
void match_all_on_device(const DeviceGrids& sources, const DeviceGrids& targets,
                         const MatchParams& params, const DeviceOutputs& outputs, void* stream);

// Whether there is a usable GPU; false where the program was built without CUDA.
bool is_available();

// A description of the GPU, or why there is none.
std::string describe_device();

}  // namespace diml::cuda
