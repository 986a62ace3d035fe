#pragma once

#include <functional>

#include <torch/torch.h>

#include "diml/architecture.h"

namespace diml {

// A convolution with whatever stands for its BatchNorm.
using Convolve = std::function<torch::Tensor(const ConvolutionLayer&, const torch::Tensor&)>;
using TensorTap = std::function<void(const std::string& name, const torch::Tensor& map)>;

// The network that the architecture describes: pixels [B, 3, H, W] to the last map [B, C, h, w].
torch::Tensor run_residual(const Architecture& architecture, torch::Tensor pixels,
                           const Convolve& convolve, const TensorTap& tap = {});

}  // namespace diml
