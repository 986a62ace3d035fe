#include "device.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <c10/core/impl/VirtualGuardImpl.h>
#if DIML_TORCH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

#include "base/amx.h"
#include "base/free_memory.h"
#include "diml/error.h"

namespace diml::learn {
namespace {

// Which of this machine's processes this one is, counted from 0.
std::size_t local_rank() {
  for (const char* name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const char* value = std::getenv(name)) return std::strtoul(value, nullptr, 10);
  }
  return 0;
}

}  // namespace

torch::Device device_named(const std::string& name) {
  avoid_broken_amx();
  if (name == "cpu") return torch::kCPU;
  const std::string digits = name.starts_with("cuda:") ? name.substr(5) : "0";
  const bool number = !digits.empty() && digits.size() < 4 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
  if ((name != "cuda" && !name.starts_with("cuda:")) || !number) {
    throw Error("there is no device '" + name + "': use cpu, cuda or cuda:1 (any number)");
  }
  if (!torch::cuda::is_available()) {
    throw Error(ErrorKind::unsupported,
                "device " + name + ": there is no GPU that LibTorch can use here; use device cpu");
  }
  const std::size_t index = name == "cuda" ? local_rank() : std::stoul(digits);
  const auto count = static_cast<std::size_t>(torch::cuda::device_count());
  if (index >= count) {
    throw Error(ErrorKind::unsupported, "device cuda:" + std::to_string(index) +
                                            ": GPUs here are numbered from 0 to " +
                                            std::to_string(count - 1));
  }
  // float32 means float32: by default, a GPU's convolutions round their input to the ten bits of
  // TF32.
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  // Batches keep their size: the fastest convolutions are selected once.
  at::globalContext().setBenchmarkCuDNN(true);
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

std::optional<double> free_memory_of([[maybe_unused]] torch::Device device) {
  if (device.is_cpu()) return free_memory();
#if DIML_TORCH_CUDA
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    // LibTorch caches freed memory and reuses it.
    const auto stats =
        c10::cuda::CUDACachingAllocator::getDeviceStats(guard.current_device().index());
    return static_cast<double>(free) +
           static_cast<double>(stats.reserved_bytes[0].current - stats.allocated_bytes[0].current);
  }
#endif
  return {};
}

DeviceEvent::DeviceEvent(torch::Device device) {
  if (!device.is_cuda()) return;
  const c10::impl::VirtualGuardImpl implementation(device.type());
  event_.emplace(device.type());
  event_->record(implementation.getStream(device));
}

void DeviceEvent::wait() const {
  while (event_ && !event_->query()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

torch::Tensor host_memory(at::IntArrayRef shape, torch::ScalarType type, torch::Device device) {
  return torch::empty(shape, torch::TensorOptions().dtype(type).pinned_memory(device.is_cuda()));
}

}  // namespace diml::learn
