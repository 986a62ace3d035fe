#include "residual.h"

namespace diml {

torch::Tensor run_residual(const Architecture& architecture, torch::Tensor pixels,
                           const Convolve& convolve, const TensorTap& tap) {
  // In place where a map is nobody else's: what a convolution gives it does not look at again.
  torch::Tensor map = convolve(architecture.stem, pixels).relu_();
  map = torch::max_pool2d(map, 3, 2, 1);
  if (tap) tap("stem", map);
  for (const ResidualBlock& block : architecture.blocks) {
    torch::Tensor inner = map;
    for (std::size_t k = 0; k < block.layers.size(); ++k) {
      if (k > 0) inner.relu_();
      inner = convolve(block.layers[k], inner);
    }
    map = inner.add_(block.shortcut ? convolve(*block.shortcut, map) : map).relu_();
    if (tap) tap(block.name, map);
  }
  return map;
}

}  // namespace diml
