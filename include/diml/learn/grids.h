#pragma once

#include <torch/torch.h>

#include "diml/grid_pooling.h"

namespace diml::learn {

// The grids of a batch, or of proxies, as the losses see them: differentiable.
struct Grids {
  torch::Tensor globals;  // [N, D], unit vectors
  torch::Tensor norms;    // [N], the lengths of the globals before they were made unit
  torch::Tensor cells;    // [N, R, D], unit vectors; undefined where no measure asks for them

  std::int64_t size() const { return globals.size(0); }
  std::int64_t dim() const { return globals.size(1); }
};

// L2-normalised along the last axis; a zero vector stays zero.
torch::Tensor unit(const torch::Tensor& vectors);

// map: [N, D, H, W], projected. grid: 0 for globals alone.
Grids make_grids(const torch::Tensor& map, std::size_t grid, PoolingRule rule);

}  // namespace diml::learn
