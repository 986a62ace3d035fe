// Real weights on each backend, every layer against a forward pass in NumPy, float64. The weights
// are not part of the repository: they are fetched.

#include "models/fetched_weights.h"
#include "models/generated_model.h"
#include "models/golden_layers.h"

namespace diml::test {
namespace {

class ImageNet : public testing::TestWithParam<std::string> {};

TEST_P(ImageNet, EveryLayerAgreesWithNumPy) {
  const FetchedWeights weights = fetched_resnet50();
  if (weights.path.empty()) GTEST_SKIP() << weights.why_not;
  Model model = load_model(weights.path);
  model.stride = stride_place_from(GetParam());
  std::vector<float> pixels(3 * kHeight * kWidth);
  const std::vector<float> raw = generated("input", pixels.size(), [](double u) { return u; });
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(255.0 * static_cast<double>(raw[i]) -
                                   model.preprocessing.mean[i / (kHeight * kWidth)]);
  }
  for (const Runtime& runtime : kRuntimes) {
    EXPECT_LT(largest_error(runtime, model, pixels, 1, golden("imagenet_resnet50_" + GetParam()),
                            Precision::float32),
              1e-4)
        << runtime.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ImageNet, testing::Values("1x1", "3x3"),
                         [](const auto& one) { return "stride_in_" + one.param; });

}  // namespace
}  // namespace diml::test
