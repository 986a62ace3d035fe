// Every block of small vision transformers against a forward pass in torch, float64
// (tools/make_vit_golden.py), on each backend, at the size of the position embedding and at
// another.

#include "base/refusal.h"
#include "diml/error.h"
#include "models/generated_model.h"
#include "models/golden_layers.h"

namespace diml::test {
namespace {

class VitGolden : public testing::TestWithParam<std::string> {
 protected:
  const nlohmann::json file_ = golden("vit_" + GetParam());
  const Model model_ = generated_model(file_.at("architecture"));
};

std::vector<float> pixels_of(const nlohmann::json& one) {
  const std::size_t count =
      one.at("height").get<std::size_t>() * one.at("width").get<std::size_t>();
  return generated("input", 2 * 3 * count, [](double u) { return 2.0 * u - 1.0; });
}

TEST_P(VitGolden, EveryBlockAgreesWithTorch) {
  ASSERT_EQ(file_.at("cases").size(), 2U);
  for (const nlohmann::json& one : file_.at("cases")) {
    for (const Runtime& runtime : kRuntimes) {
      const double error = largest_error(runtime, model_, pixels_of(one), 2, one.at("taps"),
                                         Precision::float32, one.at("height"), one.at("width"));
      EXPECT_LT(error, 1e-4) << runtime.name << " at " << one.at("height");
      RecordProperty(std::string("error_") + runtime.name, std::to_string(error));
    }
  }
}

TEST_P(VitGolden, BFloat16StaysNear) {
  for (const nlohmann::json& one : file_.at("cases")) {
    for (const Runtime& runtime : kRuntimes) {
      const double error = largest_error(runtime, model_, pixels_of(one), 2, one.at("taps"),
                                         Precision::bfloat16, one.at("height"), one.at("width"));
      EXPECT_LT(error, 0.1) << runtime.name << " at " << one.at("height");
      EXPECT_GT(error, 1e-4) << runtime.name << " did not compute in bfloat16";
      RecordProperty(std::string("error_") + runtime.name, std::to_string(error));
    }
  }
}

// Behind the places of each map stands the global vector, where the network has one of its own.
TEST_P(VitGolden, MapsAreTheLastNormAndGlobalsFollowThem) {
  const nlohmann::json& one = file_.at("cases").at(1);
  const std::size_t height = one.at("height");
  const std::size_t width = one.at("width");
  for (const Runtime& runtime : kRuntimes) {
    std::map<std::string, std::vector<float>> seen;
    const auto network = runtime.make(
        model_, {}, [&](const std::string& name, MapShape, std::span<const float> values) {
          seen[name].assign(values.begin(), values.end());
        });
    const MapShape shape = network->output_shape(height, width);
    seen.clear();
    std::vector<float> maps(2 * shape.count());
    network->forward(pixels_of(one), 2, height, width, maps);
    ASSERT_EQ(shape.own_global, GetParam() != "mean");
    const std::size_t of_map = shape.height * shape.width * shape.channels;
    const std::size_t of_tokens = seen.at("norm").size() / 2;
    for (std::size_t image = 0; image < 2; ++image) {
      const auto map = maps.begin() + static_cast<std::ptrdiff_t>(image * shape.count());
      const auto end =
          seen.at("norm").begin() + static_cast<std::ptrdiff_t>((image + 1) * of_tokens);
      const auto places = static_cast<std::ptrdiff_t>(of_map);
      EXPECT_TRUE(std::equal(map, map + places, end - places)) << runtime.name;
      if (!shape.own_global) continue;
      const auto channels = static_cast<std::ptrdiff_t>(shape.channels);
      EXPECT_TRUE(
          std::equal(map + places, map + places + channels,
                     seen.at("global").begin() + static_cast<std::ptrdiff_t>(image) * channels))
          << runtime.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, VitGolden,
                         testing::Values("plain", "mean", "deit3", "dinov2", "registers",
                                         "placed_registers", "clip", "siglip"),
                         [](const auto& one) { return one.param; });

TEST(Transformers, RefuseCropsThatAreNoMultipleOfTheirPatches) {
  const Model model =
      make_model("vit:width=32,heads=2,depth=1,pixels=32", StridePlace::in_3x3, 0, 1);
  for (const Runtime& runtime : kRuntimes) {
    EXPECT_EQ(
        message_of([&] { (void)runtime.make(model, {}, {})->output_shape(32, 40); }),
        "vit:width=32,heads=2,depth=1,pixels=32 cuts photos into patches of 16 pixels: a crop "
        "of 40 does not fit, 32 and 48 do")
        << runtime.name;
  }
}

}  // namespace
}  // namespace diml::test
