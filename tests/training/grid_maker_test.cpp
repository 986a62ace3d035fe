// Grids made on the network's device, against those that the embedder makes from its maps.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "diml/error.h"
#include "diml/network.h"
#include "engine/host_grid_maker.h"
#include "learn/torch_network.h"

namespace diml::test {
namespace {

constexpr std::size_t kSide = 48;
constexpr std::size_t kDim = 16;

const Preprocessing kWhole = {.resize = kSide, .crop = kSide};

EmbeddingParams params(std::size_t batch, PoolingRule rule) {
  return {.grid = 2, .pooling = rule, .batch = batch, .threads = 2};
}

struct Grids {
  std::vector<float> cells;
  std::vector<float> globals;
};

Grids made(GridMaker& maker, std::size_t used, std::uint64_t seed) {
  Random random(seed);
  const std::span<std::uint8_t> planes = maker.planes(0);
  EXPECT_EQ(planes.size(), maker.images() * 3 * kSide * kSide);
  for (std::size_t p = 0; p < used * 3 * kSide * kSide; ++p) {
    planes[p] = static_cast<std::uint8_t>(random.below(256));
  }
  Grids grids{std::vector<float>(used * 4 * kDim), std::vector<float>(used * kDim)};
  maker.begin(0, used);
  maker.finish(0, grids.cells, grids.globals);
  return grids;
}

TEST(GridMaker, OnLibTorchGivesTheGridsOfItsMaps) {
  const std::unique_ptr<Network> network =
      make_torch_network(make_model("small", StridePlace::in_3x3, kDim, 5), {});
  for (const PoolingRule rule : {PoolingRule::align, PoolingRule::roi_align}) {
    const std::unique_ptr<GridMaker> own = network->grid_maker(kWhole, params(4, rule));
    ASSERT_NE(own, nullptr);
    const std::unique_ptr<GridMaker> plain =
        make_host_grid_maker(*network, kWhole, params(4, rule));
    for (const std::size_t used : {4, 1, 0, 3}) {
      const Grids expected = made(*plain, used, 7 + used);
      const Grids found = made(*own, used, 7 + used);
      for (std::size_t k = 0; k < expected.cells.size(); ++k) {
        ASSERT_NEAR(found.cells[k], expected.cells[k], 2e-5) << "cell value " << k;
      }
      for (std::size_t k = 0; k < expected.globals.size(); ++k) {
        ASSERT_NEAR(found.globals[k], expected.globals[k], 2e-5) << "global value " << k;
      }
    }
  }
}

TEST(GridMaker, AGridDoesNotDependOnWhatWasInItsSlotBefore) {
  const std::unique_ptr<Network> network =
      make_torch_network(make_model("small", StridePlace::in_3x3, kDim, 5), {});
  const std::unique_ptr<GridMaker> fresh =
      network->grid_maker(kWhole, params(4, PoolingRule::align));
  const std::unique_ptr<GridMaker> used =
      network->grid_maker(kWhole, params(4, PoolingRule::align));
  made(*used, 4, 1);
  const Grids first = made(*fresh, 2, 9);
  const Grids later = made(*used, 2, 9);
  EXPECT_EQ(first.cells, later.cells);
  EXPECT_EQ(first.globals, later.globals);
}

TEST(GridMaker, ANetworkThatGivesNoNumbersIsNamed) {
  Model model = make_model("small", StridePlace::in_3x3, kDim, 5);
  std::vector<float> bias(kDim, 0.0F);
  bias[3] = std::numeric_limits<float>::quiet_NaN();
  model.tensors.at("projection.bias") = make_tensor({kDim}, bias);
  const std::unique_ptr<Network> network = make_torch_network(model, {});
  const std::unique_ptr<GridMaker> own = network->grid_maker(kWhole, params(2, PoolingRule::align));
  const std::unique_ptr<GridMaker> plain =
      make_host_grid_maker(*network, kWhole, params(2, PoolingRule::align));
  EXPECT_THROW(made(*own, 2, 1), Error);
  EXPECT_THROW(made(*plain, 2, 1), Error);
}

TEST(Device, AGpuThatIsNotThereIsOneClearLine) {
  const Model model = make_model("small", StridePlace::in_3x3, kDim, 5);
  for (const char* name : {"cuda:99", "gpu", "cuda:", "cuda:x", ""}) {
    EmbeddingParams wanted;
    wanted.device = name;
    try {
      make_torch_network(model, wanted);
      FAIL() << name;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(name), std::string::npos) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace diml::test
