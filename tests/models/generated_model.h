#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "models/model.h"

namespace diml::test {

// Weights as functions of their names: tools/make_network_golden.py makes the same ones.
inline std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash ^= static_cast<std::uint8_t>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

inline std::uint64_t mixed(std::uint64_t seed) { return Random(seed).next(); }

inline std::vector<float> generated(const std::string& name, std::size_t count,
                                    const std::function<double(double)>& value) {
  std::vector<float> values(count);
  const std::uint64_t seed = hash_of(name);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(value(static_cast<double>(mixed(seed + i) >> 40) * 0x1p-24));
  }
  return values;
}

inline void generate_layer(Model& model, const ConvolutionLayer& layer, double gain) {
  const std::size_t fan_in = layer.inputs * layer.kernel * layer.kernel;
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in));
  const std::string kernel = layer.name + ".weight";
  model.tensors[kernel] = make_tensor(
      {layer.outputs, layer.inputs, layer.kernel, layer.kernel},
      generated(kernel, layer.outputs * fan_in, [&](double u) { return (2.0 * u - 1.0) * bound; }));
  const auto norm = [&](const char* part, const std::function<double(double)>& value) {
    const std::string name = layer.norm + part;
    model.tensors[name] = make_tensor({layer.outputs}, generated(name, layer.outputs, value));
  };
  norm(".weight", [&](double u) { return gain * (0.5 + u); });
  norm(".bias", [](double u) { return 0.2 * (u - 0.5); });
  norm(".running_mean", [](double u) { return 0.2 * (u - 0.5); });
  norm(".running_var", [](double u) { return 0.5 + u; });
}

inline Model generated_model(const std::string& architecture, StridePlace stride) {
  Model model;
  model.architecture = architecture;
  model.stride = stride;
  model.epsilon = stride == StridePlace::in_1x1 ? 1.001e-5 : 1e-5;
  model.provenance = "generated";
  const Architecture described = make_architecture(architecture, stride);
  generate_layer(model, described.stem, 1.0);
  for (const ResidualBlock& block : described.blocks) {
    for (const ConvolutionLayer& layer : block.layers) {
      // Small steps, so that activations neither explode nor vanish over a hundred layers.
      generate_layer(model, layer, &layer == &block.layers.back() ? 0.2 : 1.0);
    }
    if (block.shortcut) generate_layer(model, *block.shortcut, 1.0);
  }
  return model;
}

}  // namespace diml::test
