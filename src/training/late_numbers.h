#pragma once

#include <vector>

#include "learn/device.h"

namespace diml::training {

// Numbers that a device works out and the host reads when it gets to it. Asked for at once, they
// would hold up the host until the device has nothing left to do, and then the device would wait
// for the host.
class LateNumbers {
 public:
  // values: [n], what the device was told to compute so far.
  explicit LateNumbers(const torch::Tensor& values)
      : host_(learn::host_memory(values.sizes(), torch::kFloat64, values.device())),
        there_(copied(values)) {}

  // Waits until they are there.
  std::vector<double> get() const {
    there_.wait();
    return {host_.data_ptr<double>(), host_.data_ptr<double>() + host_.numel()};
  }

 private:
  learn::DeviceMark copied(const torch::Tensor& values) const {
    torch::Tensor host = host_;
    host.copy_(values.detach().to(torch::kFloat64), /*non_blocking=*/true);
    return learn::DeviceMark(values.device());
  }

  torch::Tensor host_;
  learn::DeviceMark there_;
};

}  // namespace diml::training
