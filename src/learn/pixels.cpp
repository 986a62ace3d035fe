#include "pixels.h"

namespace diml::learn {
namespace {

torch::Tensor of_channels(const std::array<float, 3>& values, torch::Device device) {
  return torch::tensor({values[0], values[1], values[2]}).view({1, 3, 1, 1}).to(device);
}

}  // namespace

Pixels::Pixels(const Preprocessing& preprocessing, torch::Device device)
    : device_(device),
      mean_(of_channels(preprocessing.mean, device)),
      deviation_(of_channels(preprocessing.deviation, device)) {}

torch::Tensor Pixels::operator()(const torch::Tensor& planes) const {
  return (planes.to(device_, /*non_blocking=*/true) - mean_).div_(deviation_);
}

}  // namespace diml::learn
