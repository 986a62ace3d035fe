#include "residual.h"

namespace diml {

torch::Tensor run_residual(const Architecture& architecture, torch::Tensor pixels,
                           const Convolve& convolve, const TensorTap& tap) {
  torch::Tensor map = torch::relu(convolve(architecture.stem, pixels));
  map = torch::max_pool2d(map, 3, 2, 1);
  if (tap) tap("stem", map);
  for (const ResidualBlock& block : architecture.blocks) {
    torch::Tensor inner = map;
    for (std::size_t k = 0; k < block.layers.size(); ++k) {
      if (k > 0) inner = torch::relu(inner);
      inner = convolve(block.layers[k], inner);
    }
    map = torch::relu(inner + (block.shortcut ? convolve(*block.shortcut, map) : map));
    if (tap) tap(block.name, map);
  }
  return map;
}

}  // namespace diml
