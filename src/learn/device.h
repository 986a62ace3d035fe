#pragma once

#include <optional>
#include <string>

#include <c10/core/Event.h>
#include <torch/torch.h>

namespace diml::learn {

// "cpu", "cuda" or "cuda:1". Of several processes on one machine (torchrun, mpirun, Slurm) each
// uses a GPU of its own where no number is given. Throws where there is no such GPU.
torch::Device device_named(const std::string& name);

// Bytes that can still be allocated there; nullopt where this is unknown.
std::optional<double> free_memory_of(torch::Device device);

// A position in the work that is queued on a device.
class DeviceEvent {
 public:
  explicit DeviceEvent(torch::Device device);
  // Waits until the device has reached it, not for work that is queued later.
  void wait() const;

 private:
  std::optional<c10::Event> event_;  // none on the CPU, which queues nothing
};

// Values that are copied back to the host: in pinned memory, to which a GPU copies asynchronously.
torch::Tensor host_memory(at::IntArrayRef shape, torch::ScalarType type, torch::Device device);

}  // namespace diml::learn
