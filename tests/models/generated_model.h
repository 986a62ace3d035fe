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

// gain: of the scale of a norm, small at the end of a residual branch, so that activations neither
// explode nor vanish over a hundred layers.
inline Tensor generated_array(const ArraySpec& array, double gain) {
  std::size_t count = 1;
  for (const std::size_t size : array.shape) count *= size;
  const auto made = [&](const std::function<double(double)>& value) {
    return make_tensor(array.shape, generated(array.name, count, value));
  };
  const double bound = std::sqrt(6.0 / static_cast<double>(count / array.shape[0]));
  switch (array.role) {
    case ArrayRole::kernel:
      return made([&](double u) { return (2.0 * u - 1.0) * bound; });
    case ArrayRole::matrix:
      return made([&](double u) { return (2.0 * u - 1.0) * bound / std::sqrt(2.0); });
    case ArrayRole::token:
      return made([](double u) { return u - 0.5; });
    case ArrayRole::layer_scale:
      return made([](double u) { return 0.5 + u; });
    case ArrayRole::norm_scale:
      return made([&](double u) { return gain * (0.5 + u); });
    case ArrayRole::variance:
      return made([](double u) { return 0.5 + u; });
    case ArrayRole::bias:
    case ArrayRole::mean:
      break;
  }
  return made([](double u) { return 0.2 * (u - 0.5); });
}

inline Model generated_model(const std::string& architecture,
                             StridePlace stride = StridePlace::in_3x3) {
  Model model;
  model.architecture = architecture;
  model.stride = stride;
  model.epsilon = stride == StridePlace::in_1x1 ? 1.001e-5 : 1e-5;
  model.provenance = "generated";
  for (const Operation& operation : make_architecture(architecture, stride).operations) {
    const bool ends_branch =
        std::holds_alternative<Convolution>(operation.kind) && operation.second.has_value();
    for (const ArraySpec& array : arrays_of(operation)) {
      model.tensors[array.name] = generated_array(array, ends_branch ? 0.2 : 1.0);
    }
  }
  return model;
}

}  // namespace diml::test
