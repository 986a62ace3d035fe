#pragma once

#include <optional>
#include <string>

#include <c10/core/Event.h>
#include <torch/torch.h>

namespace diml::learn {

// "cpu", "cuda" or "cuda:1". Of several processes on one machine (torchrun, mpirun, Slurm) each
// takes a GPU of its own where no number is given. Throws where there is no such GPU.
torch::Device device_named(const std::string& name);

// Bytes that can still be taken there; nullopt where nobody says.
std::optional<double> free_memory_of(torch::Device device);

// A place in what a device was told to do.
class DeviceMark {
 public:
  explicit DeviceMark(torch::Device device);
  // Until the device has come as far; for nothing that it was told after that.
  void wait() const;

 private:
  std::optional<c10::Event> event_;  // none on the CPU, which does everything at once
};

// Values that go back to the host: in memory that a GPU writes to by itself.
torch::Tensor host_memory(at::IntArrayRef shape, torch::ScalarType type, torch::Device device);

}  // namespace diml::learn
