// Every layer of every architecture against a forward pass in NumPy, float64
// (tools/make_network_golden.py), on each backend.

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diml/network.h"
#include "models/generated_model.h"

namespace diml::test {
namespace {

using MakeNetwork = std::unique_ptr<Network> (*)(const Model&, const NetworkParams&);
struct Backend {
  const char* name;
  MakeNetwork make;
};
const Backend kBackends[] = {
#if DIML_HAS_ONEDNN
    {"onednn", make_onednn_network},
#endif
#if DIML_HAS_TORCH
    {"torch", make_torch_network},
#endif
};

nlohmann::json golden(const std::string& name) {
  std::ifstream file(std::string(DIML_GOLDEN) + "/" + name + ".json");
  return nlohmann::json::parse(file);
}

constexpr std::size_t kHeight = 64;
constexpr std::size_t kWidth = 96;

// Compares what the taps see; returns the largest difference over the root mean square of its map.
double largest_error(const Backend& backend, const Model& model, std::span<const float> pixels,
                     std::size_t batch, const nlohmann::json& expected, Precision precision) {
  double worst = 0.0;
  std::size_t seen = 0;
  NetworkParams params;
  params.precision = precision;
  params.threads = 2;
  params.tap = [&](const std::string& name, MapShape shape, std::span<const float> values) {
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
  const std::unique_ptr<Network> network = backend.make(model, params);
  // The shape is asked first: a network may have to run for it.
  const NetworkParams quiet{precision, true, 2, {}};
  const MapShape shape = backend.make(model, quiet)->output_shape(kHeight, kWidth);
  std::vector<float> maps(batch * shape.count());
  network->forward(pixels, batch, kHeight, kWidth, maps);
  EXPECT_EQ(seen, expected.size());
  return worst;
}

using Case = std::tuple<std::string, std::string>;

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, EveryLayerAgreesWithNumPy) {
  const auto& [architecture, form] = GetParam();
  const Model model = generated_model(architecture, stride_place_from(form));
  const std::vector<float> pixels =
      generated("input", 2 * 3 * kHeight * kWidth, [](double u) { return 2.0 * u - 1.0; });
  for (const Backend& backend : kBackends) {
    const double error = largest_error(backend, model, pixels, 2, golden(architecture + "_" + form),
                                       Precision::float32);
    EXPECT_LT(error, 1e-4) << backend.name;
    RecordProperty(std::string("error_") + backend.name, std::to_string(error));
  }
}

TEST_P(Golden, BFloat16StaysNear) {
  const auto& [architecture, form] = GetParam();
  const Model model = generated_model(architecture, stride_place_from(form));
  const std::vector<float> pixels =
      generated("input", 2 * 3 * kHeight * kWidth, [](double u) { return 2.0 * u - 1.0; });
  for (const Backend& backend : kBackends) {
    const double error = largest_error(backend, model, pixels, 2, golden(architecture + "_" + form),
                                       Precision::bfloat16);
    EXPECT_LT(error, 0.1) << backend.name;
    EXPECT_GT(error, 1e-4) << backend.name << " did not compute in bfloat16";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Architectures, Golden,
    testing::Combine(testing::Values("small", "resnet18", "resnet34", "resnet50", "resnet101"),
                     testing::Values("1x1", "3x3")),
    [](const auto& one) { return std::get<0>(one.param) + "_" + std::get<1>(one.param); });

// The weights are not ours to keep here: where `diml weights get resnet50` has been called.
class ImageNet : public testing::TestWithParam<std::string> {};

TEST_P(ImageNet, EveryLayerAgreesWithNumPy) {
  const char* home = std::getenv("HOME");
  const char* own = std::getenv("DIML_CACHE");
  const std::string path =
      (own ? std::string(own) : std::string(home ? home : "") + "/.cache/diml") +
      "/resnet50.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "diml weights get resnet50";
  Model model = load_model(path);
  model.stride = stride_place_from(GetParam());
  std::vector<float> pixels(3 * kHeight * kWidth);
  const std::vector<float> raw = generated("input", pixels.size(), [](double u) { return u; });
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(255.0 * static_cast<double>(raw[i]) -
                                   model.preprocessing.mean[i / (kHeight * kWidth)]);
  }
  for (const Backend& backend : kBackends) {
    EXPECT_LT(largest_error(backend, model, pixels, 1, golden("imagenet_resnet50_" + GetParam()),
                            Precision::float32),
              1e-4)
        << backend.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ImageNet, testing::Values("1x1", "3x3"),
                         [](const auto& one) { return "stride_in_" + one.param; });

}  // namespace
}  // namespace diml::test
