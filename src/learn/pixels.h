#pragma once

#include <torch/torch.h>

#include "diml/model.h"

namespace diml::learn {

// Decoded images to what a network wants, where it runs: a quarter of the bytes travel.
class Pixels {
 public:
  Pixels(const Preprocessing& preprocessing, torch::Device device);

  // planes: [B, 3, H, W] uint8, channels in the network's order; from pinned memory they travel
  // while the host goes on. Returns float32 of that shape, on the device.
  torch::Tensor operator()(const torch::Tensor& planes) const;

 private:
  torch::Device device_;
  torch::Tensor mean_;
  torch::Tensor deviation_;
};

}  // namespace diml::learn
