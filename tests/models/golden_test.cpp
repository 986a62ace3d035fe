// Every layer of every architecture against a forward pass in NumPy, float64
// (tools/make_network_golden.py), on each backend.

#include "models/generated_model.h"
#include "models/golden_layers.h"

namespace diml::test {
namespace {

using Case = std::tuple<std::string, std::string>;

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, EveryLayerAgreesWithNumPy) {
  const auto& [architecture, form] = GetParam();
  const Model model = generated_model(architecture, stride_place_from(form));
  const std::vector<float> pixels =
      generated("input", 2 * 3 * kHeight * kWidth, [](double u) { return 2.0 * u - 1.0; });
  for (const Runtime& runtime : kRuntimes) {
    const double error = largest_error(runtime, model, pixels, 2, golden(architecture + "_" + form),
                                       Precision::float32);
    EXPECT_LT(error, 1e-4) << runtime.name;
    RecordProperty(std::string("error_") + runtime.name, std::to_string(error));
  }
}

TEST_P(Golden, BFloat16StaysNear) {
  const auto& [architecture, form] = GetParam();
  const Model model = generated_model(architecture, stride_place_from(form));
  const std::vector<float> pixels =
      generated("input", 2 * 3 * kHeight * kWidth, [](double u) { return 2.0 * u - 1.0; });
  for (const Runtime& runtime : kRuntimes) {
    const double error = largest_error(runtime, model, pixels, 2, golden(architecture + "_" + form),
                                       Precision::bfloat16);
    EXPECT_LT(error, 0.1) << runtime.name;
    EXPECT_GT(error, 1e-4) << runtime.name << " did not compute in bfloat16";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Architectures, Golden,
    testing::Combine(testing::Values("small", "resnet18", "resnet34", "resnet50", "resnet101"),
                     testing::Values("1x1", "3x3")),
    [](const auto& one) { return std::get<0>(one.param) + "_" + std::get<1>(one.param); });

}  // namespace
}  // namespace diml::test
