#pragma once

#include <vector>

#include "learn/device.h"

namespace diml::training {

// Numbers that a device computes and the host reads later. Read at once, they would block the host
// until the device has finished all queued work; then the device would be idle and wait for the
// host.
class LateNumbers {
 public:
  // values: [n], results of work that is queued on the device.
  explicit LateNumbers(const torch::Tensor& values)
      : host_(learn::host_memory(values.sizes(), torch::kFloat64, values.device())),
        there_(copied(values)) {}

  // Waits until they are computed.
  std::vector<double> get() const {
    there_.wait();
    return {host_.data_ptr<double>(), host_.data_ptr<double>() + host_.numel()};
  }

 private:
  learn::DeviceEvent copied(const torch::Tensor& values) const {
    torch::Tensor host = host_;
    host.copy_(values.detach().to(torch::kFloat64), /*non_blocking=*/true);
    return learn::DeviceEvent(values.device());
  }

  torch::Tensor host_;
  learn::DeviceEvent there_;
};

}  // namespace diml::training
