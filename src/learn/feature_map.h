#pragma once

#include <torch/torch.h>

namespace diml {

// What a network makes of a batch.
struct FeatureMap {
  torch::Tensor map;       // [B, C, h, w]
  torch::Tensor global{};  // [B, C]; undefined where the mean of the map is meant
};

}  // namespace diml
