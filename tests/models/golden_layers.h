#pragma once

// Every layer of a network against a forward pass in float64: tools/make_network_golden.py (NumPy)
// and tools/make_vit_golden.py (torch).

#include <cmath>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diml/network.h"
#include "learn/torch_network.h"
#include "models/onednn_network.h"

namespace diml::test {

using MakeNetwork = std::unique_ptr<Network> (*)(const Model&, const EmbeddingParams&, const Tap&);
struct Runtime {
  const char* name;
  MakeNetwork make;
};
inline const Runtime kRuntimes[] = {
#if DIML_HAS_ONEDNN
    {"onednn", make_onednn_network},
#endif
#if DIML_HAS_TORCH
    {"torch", make_torch_network},
#endif
};

inline nlohmann::json golden(const std::string& name) {
  std::ifstream file(std::string(DIML_GOLDEN) + "/" + name + ".json");
  return nlohmann::json::parse(file);
}

constexpr std::size_t kHeight = 64;
constexpr std::size_t kWidth = 96;

// Compares what the taps see; returns the largest difference over the root mean square of its map.
inline double largest_error(const Runtime& runtime, const Model& model,
                            std::span<const float> pixels, std::size_t batch,
                            const nlohmann::json& expected, Precision precision,
                            std::size_t height = kHeight, std::size_t width = kWidth) {
  double worst = 0.0;
  std::size_t seen = 0;
  const EmbeddingParams params{.precision = precision, .threads = 2};
  const Tap compare = [&](const std::string& name, MapShape shape, std::span<const float> values) {
    const nlohmann::json& tap = expected.at(seen++);
    ASSERT_EQ(tap.at("tap"), name);
    ASSERT_EQ(tap.at("shape"), nlohmann::json({batch, shape.channels, shape.height, shape.width}));
    const double rms = tap.at("rms");
    double sum = 0.0;
    for (const float v : values) sum += static_cast<double>(v) * v;
    const double own_rms = std::sqrt(sum / static_cast<double>(values.size()));
    worst = std::max(worst, std::abs(own_rms - rms) / rms);
    const std::size_t places = shape.height * shape.width;
    for (const auto& sample : tap.at("samples")) {
      // The file counts [batch, channels, height, width]; the taps have channels last.
      const std::size_t index = sample.at(0);
      const std::size_t image = index / shape.count();
      const std::size_t channel = index / places % shape.channels;
      const std::size_t place = index % places;
      const float value = values[(image * places + place) * shape.channels + channel];
      worst = std::max(worst, std::abs(value - sample.at(1).get<double>()) / rms);
    }
  };
  const std::unique_ptr<Network> network = runtime.make(model, params, compare);
  // The shape is asked first: a network may have to run for it.
  const MapShape shape = runtime.make(model, params, {})->output_shape(height, width);
  std::vector<float> maps(batch * shape.count());
  network->forward(pixels, batch, height, width, maps);
  EXPECT_EQ(seen, expected.size());
  return worst;
}

}  // namespace diml::test
