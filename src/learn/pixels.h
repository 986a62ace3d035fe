#pragma once

#include <torch/torch.h>

#include "models/model.h"

namespace diml::learn {

// Decoded images to the input of a network, on its device: a quarter of the bytes are copied.
class Pixels {
 public:
  Pixels(const Preprocessing& preprocessing, torch::Device device);

  // planes: [B, 3, H, W] uint8, channels in the network's order; pinned memory is copied while the
  // host continues. Returns float32 of that shape, on the device.
  torch::Tensor operator()(const torch::Tensor& planes) const;

 private:
  torch::Device device_;
  torch::Tensor mean_;
  torch::Tensor deviation_;
};

}  // namespace diml::learn
