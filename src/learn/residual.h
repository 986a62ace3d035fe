#pragma once

#include <functional>

#include <torch/torch.h>

#include "models/architecture.h"

namespace diml {

// What follows a convolution that has its BatchNorm folded in or applied.
struct Finish {
  bool relu = false;
  torch::Tensor shortcut{};  // is added before ReLU; undefined for none
};

using Convolve =
    std::function<torch::Tensor(const ConvolutionLayer&, const torch::Tensor&, const Finish&)>;
using TensorTap = std::function<void(const std::string& name, const torch::Tensor& map)>;

// Finishes it by LibTorch's own operations, in place: the convolution does not need its result
// again.
torch::Tensor finished(torch::Tensor map, const Finish& finish);

// The network that the architecture describes: pixels [B, 3, H, W] to the last map [B, C, h, w].
torch::Tensor run_residual(const Architecture& architecture, torch::Tensor pixels,
                           const Convolve& convolve, const TensorTap& tap = {});

}  // namespace diml
