#pragma once

#include <functional>
#include <string>

#include <torch/torch.h>

#include "feature_map.h"
#include "models/architecture.h"

namespace diml {

// What follows a convolution that has its BatchNorm folded in or applied.
struct Finish {
  bool relu = false;
  torch::Tensor shortcut{};  // is added before ReLU; undefined for none
};

using Convolve =
    std::function<torch::Tensor(const Convolution&, const torch::Tensor&, const Finish&)>;
// Maps [B, C, h, w]; tokens as [B, C, 1, places].
using TensorTap = std::function<void(const std::string& name, const torch::Tensor& map)>;

// How a network is run: to learn, or with its arrays folded.
struct Operators {
  Convolve convolve;
  // An array of any other operation, by name, in the type of the maps.
  std::function<torch::Tensor(const std::string& name)> array;
  // What a residual branch that ends in this linear layer adds; as it is without this function.
  std::function<torch::Tensor(const std::string& name, const torch::Tensor& values)> branch{};
};

// Finishes it by LibTorch's own operations, in place: the convolution does not need its result
// again.
torch::Tensor finished(torch::Tensor map, const Finish& finish);

// The network that the architecture describes; pixels: [B, 3, H, W]. Differentiable.
FeatureMap run_graph(const Architecture& architecture, const torch::Tensor& pixels,
                     const Operators& operators, const TensorTap& tap = {});

}  // namespace diml
