#pragma once

#include <functional>
#include <memory>

#include <torch/torch.h>

#include "diml/embedding.h"
#include "diml/network.h"
#include "feature_map.h"

namespace diml::learn {

// pixels [batch, 3, crop, crop], float32, to a map [batch, dim, h, w].
using RunNetwork = std::function<FeatureMap(const torch::Tensor& pixels)>;

// The whole way from bytes to grids on the device. On a GPU several slots are in flight: the host
// fills one while the GPU computes another.
std::unique_ptr<GridMaker> make_torch_grid_maker(RunNetwork run, torch::Device device,
                                                 const Preprocessing& preprocessing,
                                                 const EmbeddingParams& params);

}  // namespace diml::learn
