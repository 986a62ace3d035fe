// A map must not depend on the other images of its batch nor, if a network says so, on their
// number.

#include <cstring>

#include <gtest/gtest.h>

#include "base/random.h"
#include "diml/error.h"
#include "models/onednn_network.h"

namespace diml::test {
namespace {

constexpr std::size_t kFull = 8;

const char* const kTransformer = "vit:width=128,depth=3,heads=2,patch=8,pixels=64";

struct BatchCase {
  const char* architecture;
  std::size_t side;
  Precision precision;
  int threads;
};

class Batches : public testing::TestWithParam<BatchCase> {
 protected:
  std::vector<float> maps_of(Network& network, std::size_t first, std::size_t count) const {
    const std::size_t side = GetParam().side;
    std::vector<float> pixels(count * 3 * side * side);
    for (std::size_t i = 0; i < count; ++i) {
      Random random(first + i);
      for (std::size_t p = 0; p < 3 * side * side; ++p) {
        pixels[i * 3 * side * side + p] = static_cast<float>(random.normal());
      }
    }
    std::vector<float> maps(count * network.output_shape(side, side).count());
    network.forward(pixels, count, side, side, maps);
    return maps;
  }
};

TEST_P(Batches, OfAnySizeGiveAMapTheSameBitsWhereverItStands) {
  const BatchCase& given = GetParam();
  EmbeddingParams params;
  params.precision = given.precision;
  params.threads = given.threads;
  const std::unique_ptr<Network> network =
      make_onednn_network(make_model(given.architecture, StridePlace::in_3x3, 16, 3), params);
  std::vector<float> full;
  try {
    full = maps_of(*network, 0, kFull);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();  // no bfloat16 on this CPU
  }
  const std::size_t of_map = full.size() / kFull;
  std::size_t promised = 0;
  for (std::size_t few = 1; few < kFull; few *= 2) {
    if (!network->same_bits(few, kFull, given.side, given.side)) continue;
    ++promised;
    // The batches of `few` start at every position once, so an image is at every position of a
    // batch.
    for (const std::size_t first : {std::size_t{0}, kFull - few, few / 2 + 1}) {
      const std::vector<float> maps = maps_of(*network, first, few);
      EXPECT_EQ(std::memcmp(maps.data(), &full[first * of_map], maps.size() * sizeof(float)), 0)
          << few << " images from " << first << " on";
    }
  }
  if (promised == 0) GTEST_SKIP() << "oneDNN promises nothing on this CPU";
}

INSTANTIATE_TEST_SUITE_P(
    OneDnn, Batches,
    testing::Values(BatchCase{"small", 64, Precision::float32, 1},
                    BatchCase{"small", 64, Precision::float32, 3},
                    BatchCase{"small", 64, Precision::bfloat16, 2},
                    BatchCase{"resnet50", 224, Precision::float32, 2},
                    BatchCase{"resnet50", 224, Precision::bfloat16, 2},
                    BatchCase{kTransformer, 64, Precision::float32, 1},
                    BatchCase{kTransformer, 96, Precision::float32, 3},
                    BatchCase{kTransformer, 96, Precision::bfloat16, 2},
                    BatchCase{"vit_small_patch16_224", 224, Precision::float32, 2}),
    [](const auto& instance) {
      const BatchCase& one = instance.param;
      const std::string name = one.architecture == kTransformer ? "transformer" : one.architecture;
      return name + "_" + name_of(one.precision) + "_on_" + std::to_string(one.threads);
    });

}  // namespace
}  // namespace diml::test
