#include "residual.h"

namespace diml {

torch::Tensor finished(torch::Tensor map, const Finish& finish) {
  if (finish.shortcut.defined()) map.add_(finish.shortcut);
  return finish.relu ? map.relu_() : map;
}

torch::Tensor run_residual(const Architecture& architecture, torch::Tensor pixels,
                           const Convolve& convolve, const TensorTap& tap) {
  torch::Tensor map = convolve(architecture.stem, pixels, {.relu = true});
  map = torch::max_pool2d(map, 3, 2, 1);
  if (tap) tap("stem", map);
  for (const ResidualBlock& block : architecture.blocks) {
    torch::Tensor inner = map;
    for (std::size_t k = 0; k + 1 < block.layers.size(); ++k) {
      inner = convolve(block.layers[k], inner, {.relu = true});
    }
    const torch::Tensor shortcut = block.shortcut ? convolve(*block.shortcut, map, {}) : map;
    map = convolve(block.layers.back(), inner, {.relu = true, .shortcut = shortcut});
    if (tap) tap(block.name, map);
  }
  return map;
}

}  // namespace diml
