#pragma once

#include <functional>

#include <torch/torch.h>

#include "diml/architecture.h"

namespace diml {

// What comes after a convolution with whatever stands for its BatchNorm.
struct Finish {
  bool relu = false;
  torch::Tensor shortcut{};  // is added before ReLU; undefined for none
};

using Convolve =
    std::function<torch::Tensor(const ConvolutionLayer&, const torch::Tensor&, const Finish&)>;
using TensorTap = std::function<void(const std::string& name, const torch::Tensor& map)>;

// Finishes it by LibTorch's own operations, in place: what a convolution gave it does not look at
// again.
torch::Tensor finished(torch::Tensor map, const Finish& finish);

// The network that the architecture describes: pixels [B, 3, H, W] to the last map [B, C, h, w].
torch::Tensor run_residual(const Architecture& architecture, torch::Tensor pixels,
                           const Convolve& convolve, const TensorTap& tap = {});

}  // namespace diml
