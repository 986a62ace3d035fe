#include "learn/trainable_network.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/amx.h"
#include "diml/error.h"
#include "diml/network.h"
#include "frozen_norm.h"
#include "learn/optimiser.h"
#include "learn/torch_network.h"

namespace diml::learn {
namespace {

// LibTorch checks the CPU at its first convolution, which tests without a network of diml may run.
[[maybe_unused]] const bool kAmxIsAvoided = [] {
  avoid_broken_amx();
  return true;
}();

// With statistics, scales and shifts that are not those of a new network.
Model lived_in(const char* architecture) {
  Model model = make_model(architecture, StridePlace::in_3x3, 16, 5);
  torch::manual_seed(1);
  for (auto& [name, tensor] : model.tensors) {
    const auto count = static_cast<std::int64_t>(tensor.count());
    torch::Tensor values;
    if (name.ends_with(".running_var")) values = torch::rand({count}) + 0.5;
    if (name.ends_with(".running_mean")) values = 0.1 * torch::randn({count});
    if (name.ends_with("bn1.weight") || name.ends_with("bn2.weight")) {
      values = torch::rand({count}) + 0.5;
    }
    if (name.ends_with(".bias")) values = 0.1 * torch::randn({count});
    if (!values.defined()) continue;
    tensor = make_tensor(tensor.shape, {values.data_ptr<float>(), tensor.count()});
  }
  return model;
}

torch::Tensor some_pixels(std::int64_t images, std::int64_t side) {
  torch::manual_seed(2);
  return torch::randn({images, 3, side, side});
}

TEST(TrainableNetwork, SeesWhatTheNetworkThatSearchesSees) {
  const Model model = lived_in("small");
  const torch::Tensor pixels = some_pixels(3, 64);
  const torch::Tensor map = TrainableNetwork(model, torch::kCPU).forward(pixels).map.detach();
  const std::unique_ptr<Network> folded = make_torch_network(model, {});
  const MapShape shape = folded->output_shape(64, 64);
  ASSERT_EQ(map.sizes(), (std::vector<std::int64_t>{3, static_cast<std::int64_t>(shape.channels),
                                                    static_cast<std::int64_t>(shape.height),
                                                    static_cast<std::int64_t>(shape.width)}));
  torch::Tensor other = torch::empty({3, map.size(2), map.size(3), map.size(1)});
  folded->forward({pixels.data_ptr<float>(), static_cast<std::size_t>(pixels.numel())}, 3, 64, 64,
                  {other.data_ptr<float>(), static_cast<std::size_t>(other.numel())});
  const auto largest = map.abs().max().item<double>();
  EXPECT_GT(largest, 0.0);
  EXPECT_LT((map - other.permute({0, 3, 1, 2})).abs().max().item<double>(), 1e-5 * largest);
}

TEST(TrainableNetwork, TheGradientReachesEveryParameterAndNoStatistic) {
  const Model model = lived_in("small");
  const TrainableNetwork network(model, torch::kCPU);
  network.forward(some_pixels(2, 64)).map.square().sum().backward();
  std::size_t statistics = 0;
  for (const auto& [name, tensor] : model.tensors) {
    const bool learns = network.parameters().contains(name);
    statistics += learns ? 0 : 1;
    EXPECT_EQ(learns, name.find(".running_") == std::string::npos) << name;
  }
  EXPECT_GT(statistics, 0u);
  for (const auto& [name, value] : network.parameters()) {
    ASSERT_TRUE(value.grad().defined()) << name;
    EXPECT_GT(value.grad().abs().max().item<double>(), 0.0) << name;
  }
  // Frozen: looking at images changes nothing.
  const Model after = network.model();
  for (const auto& [name, tensor] : model.tensors) {
    EXPECT_EQ(after.tensors.at(name).bytes, tensor.bytes) << name;
  }
}

// Two layers, in double.
TEST(FrozenNorm, InsideTheConvolutionItGivesTheSameValuesAndGradients) {
  torch::manual_seed(3);
  const auto leaf = [](at::IntArrayRef shape, double scale, double offset) {
    return (torch::randn(shape, torch::kFloat64) * scale + offset).set_requires_grad(true);
  };
  constexpr double kEpsilon = 1e-3;
  const torch::Tensor pixels = leaf({2, 3, 9, 7}, 1.0, 0.2);
  const std::vector<torch::Tensor> kernels = {leaf({5, 3, 3, 3}, 0.4, 0.0),
                                              leaf({4, 5, 1, 1}, 0.4, 0.1)};
  const std::vector<torch::Tensor> scales = {leaf({5}, 0.3, 1.0), leaf({4}, 0.3, 1.0)};
  const std::vector<torch::Tensor> shifts = {leaf({5}, 0.5, -0.1), leaf({4}, 0.5, 0.3)};
  std::vector<torch::Tensor> means, variances;
  for (const torch::Tensor& scale : scales) {
    means.push_back(torch::randn(scale.sizes(), torch::kFloat64));
    variances.push_back(torch::rand(scale.sizes(), torch::kFloat64) + 0.1);
  }
  const FrozenNorms norms(means, variances, kEpsilon);
  const FrozenNorms::Channels channels = norms.channels(scales, shifts, torch::kFloat64);
  torch::Tensor plain = pixels;
  torch::Tensor folded = pixels;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::int64_t padding = kernels[k].size(2) / 2;
    plain = torch::tanh(torch::batch_norm(torch::conv2d(plain, kernels[k], {}, 2, padding),
                                          scales[k], shifts[k], means[k], variances[k],
                                          /*training=*/false, 0.0, kEpsilon,
                                          /*cudnn_enabled=*/false));
    const torch::Tensor kernel = scaled_kernel(kernels[k], channels.factors[k], torch::kFloat64);
    folded = torch::tanh(torch::conv2d(folded, kernel, channels.biases[k], 2, padding));
  }
  EXPECT_LT((plain - folded).abs().max().item<double>(), 1e-13);

  std::vector<torch::Tensor> leaves = {pixels};
  for (const auto* part : {&kernels, &scales, &shifts}) {
    leaves.insert(leaves.end(), part->begin(), part->end());
  }
  const std::vector<torch::Tensor> expected = torch::autograd::grad({plain.pow(3).sum()}, leaves);
  const std::vector<torch::Tensor> found = torch::autograd::grad({folded.pow(3).sum()}, leaves);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto largest = expected[k].abs().max().item<double>();
    EXPECT_GT(largest, 0.0) << "array " << k;
    EXPECT_LT((expected[k] - found[k]).abs().max().item<double>(), 1e-12 * largest)
        << "array " << k;
  }
}

TEST(TrainableNetwork, InBfloat16MapsAndGradientsPointTheSameWay) {
  const Model model = lived_in("small");
  const torch::Tensor pixels = some_pixels(4, 64);
  const TrainableNetwork exact(model, torch::kCPU);
  const TrainableNetwork coarse(model, torch::kCPU, Precision::bfloat16);
  const auto alike = [](const torch::Tensor& x, const torch::Tensor& y) {
    return torch::cosine_similarity(x.detach().flatten(), y.detach().flatten(), 0).item<double>();
  };
  const torch::Tensor expected = exact.forward(pixels).map;
  const torch::Tensor found = coarse.forward(pixels).map;
  ASSERT_EQ(found.scalar_type(), torch::kFloat32);
  EXPECT_GT(alike(expected, found), 0.999);
  EXPECT_FALSE(expected.equal(found));  // or nothing was coarse
  expected.square().sum().backward();
  found.square().sum().backward();
  for (const auto& [name, value] : exact.parameters()) {
    const torch::Tensor& gradient = coarse.parameters().at(name).grad();
    ASSERT_EQ(gradient.scalar_type(), torch::kFloat32) << name;
    EXPECT_GT(alike(value.grad(), gradient), 0.98) << name;
  }
}

TEST(TrainableNetwork, LearnsInBfloat16WhatItLearnsInFloat32) {
  const torch::Tensor pixels = some_pixels(4, 32);
  const torch::Tensor wanted = torch::randn({4, 16});
  const auto losses = [&](Precision precision) {
    TrainableNetwork network(lived_in("small"), torch::kCPU, precision);
    OptimiserParams params;
    params.learning_rate = 3e-3;
    Optimiser optimiser(params, {{"all", params.learning_rate, 0.0, network.parameters()}});
    std::vector<double> values;
    for (int step = 0; step < 12; ++step) {
      optimiser.zero_gradients();
      const torch::Tensor loss =
          (network.forward(pixels).map.mean({2, 3}) - wanted).square().mean();
      values.push_back(loss.item<double>());
      loss.backward();
      optimiser.step(1.0);
    }
    return values;
  };
  const std::vector<double> exact = losses(Precision::float32);
  const std::vector<double> coarse = losses(Precision::bfloat16);
  EXPECT_LT(coarse.back(), 0.5 * coarse.front());
  EXPECT_NEAR(coarse.front(), exact.front(), 0.02 * exact.front());
  EXPECT_NEAR(coarse.back(), exact.back(), 0.2 * exact.front());
}

TEST(TrainableNetwork, CalibratedMapsHaveMeanZeroAndVarianceOne) {
  TrainableNetwork network(make_model("small", StridePlace::in_3x3, 16, 5), torch::kCPU);
  const torch::Tensor pixels = 3.0 * some_pixels(4, 64) + 1.0;
  network.calibrate(pixels);
  const Model calibrated = network.model();
  const auto values = [&](const std::string& name) {
    return torch::tensor(calibrated.tensors.at(name).floats());
  };
  // The first layer, whose map can be had by hand.
  const torch::Tensor weight = network.parameters().at("conv1.weight").detach();
  const std::int64_t padding = weight.size(2) / 2;
  bool found = false;
  for (const std::int64_t stride : {1, 2}) {
    const torch::Tensor map = torch::conv2d(pixels, weight, {}, stride, padding);
    const torch::Tensor normal =
        (map - values("bn1.running_mean").view({1, -1, 1, 1})) /
        (values("bn1.running_var").view({1, -1, 1, 1}) + calibrated.epsilon).sqrt();
    found = found || (normal.mean({0, 2, 3}).abs().max().item<double>() < 1e-4 &&
                      (normal.var({0, 2, 3}, false) - 1.0).abs().max().item<double>() < 1e-3);
  }
  EXPECT_TRUE(found);
  for (const auto& [name, tensor] : calibrated.tensors) {
    if (!name.ends_with(".running_var")) continue;
    for (const float variance : tensor.floats()) {
      EXPECT_GE(variance, 0.0F) << name;
      EXPECT_NE(variance, 1.0F) << name;
    }
  }
  // Every layer has seen the final output of the layers before it: a second pass changes nothing.
  network.calibrate(pixels);
  const Model again = network.model();
  for (const auto& [name, tensor] : calibrated.tensors) {
    EXPECT_EQ(again.tensors.at(name).bytes, tensor.bytes) << name;
  }
}

const char* const kTransformers[] = {
    "vit:width=32,depth=2,heads=2,patch=8,pixels=32,layer_scale=yes,registers=2,"
    "positions_of_all=no,swiglu=yes",
    "vit:width=32,depth=2,heads=2,patch=8,pixels=48,class_token=no,pool=attention,"
    "activation=gelu_tanh",
    "vit:width=32,depth=2,heads=2,patch=8,pixels=48,pre_norm=yes,activation=quick_gelu",
};

// Random weights leave residual branches almost without effect: here they have some.
Model lively(const char* architecture) {
  Model model = make_model(architecture, StridePlace::in_3x3, 16, 5);
  torch::manual_seed(1);
  for (const ArraySpec& array : make_architecture(architecture, StridePlace::in_3x3).arrays) {
    torch::Tensor values =
        0.2 * torch::randn({static_cast<std::int64_t>(model.tensors.at(array.name).count())});
    if (array.role == ArrayRole::norm_scale || array.role == ArrayRole::layer_scale) values += 1.0;
    model.tensors[array.name] = make_tensor(
        array.shape, {values.data_ptr<float>(), static_cast<std::size_t>(values.numel())});
  }
  return model;
}

TEST(TrainableTransformer, SeesWhatTheNetworkThatSearchesSees) {
  for (const char* architecture : kTransformers) {
    const Model model = lively(architecture);
    const torch::Tensor pixels = some_pixels(3, 48);
    const FeatureMap made = TrainableNetwork(model, torch::kCPU).forward(pixels);
    ASSERT_TRUE(made.global.defined()) << architecture;
    const torch::Tensor map = made.map.detach();
    const std::unique_ptr<Network> network = make_torch_network(model, {});
    const MapShape shape = network->output_shape(48, 48);
    ASSERT_TRUE(shape.own_global);
    torch::Tensor other = torch::empty({3, map.size(2) * map.size(3) + 1, map.size(1)});
    network->forward({pixels.data_ptr<float>(), static_cast<std::size_t>(pixels.numel())}, 3, 48,
                     48, {other.data_ptr<float>(), static_cast<std::size_t>(other.numel())});
    const auto places = map.size(2) * map.size(3);
    const auto largest = map.abs().max().item<double>();
    EXPECT_GT(largest, 0.0);
    const torch::Tensor rows = map.flatten(2).transpose(1, 2);
    EXPECT_LT((rows - other.narrow(1, 0, places)).abs().max().item<double>(), 1e-5 * largest);
    EXPECT_LT((made.global.detach() - other.select(1, places)).abs().max().item<double>(),
              1e-5 * largest);
  }
}

TEST(TrainableTransformer, TheGradientReachesEveryParameter) {
  for (const char* architecture : kTransformers) {
    const TrainableNetwork network(lively(architecture), torch::kCPU);
    // Another size than that of the position embedding: it learns through its interpolation.
    const FeatureMap made = network.forward(some_pixels(2, 64));
    (made.map.square().sum() + made.global.square().sum()).backward();
    EXPECT_EQ(network.parameters().size(), network.model().tensors.size());
    for (const auto& [name, value] : network.parameters()) {
      ASSERT_TRUE(value.grad().defined()) << name;
      EXPECT_GT(value.grad().abs().max().item<double>(), 0.0) << architecture << " " << name;
    }
  }
}

TEST(TrainableTransformer, LearnsInBfloat16WhatItLearnsInFloat32) {
  const torch::Tensor pixels = some_pixels(4, 32);
  const torch::Tensor wanted = torch::randn({4, 16});
  const auto losses = [&](Precision precision) {
    TrainableNetwork network(lively(kTransformers[0]), torch::kCPU, precision);
    OptimiserParams params;
    params.learning_rate = 3e-3;
    Optimiser optimiser(params, {{"all", params.learning_rate, 0.0, network.parameters()}});
    std::vector<double> values;
    for (int step = 0; step < 12; ++step) {
      optimiser.zero_gradients();
      const FeatureMap made = network.forward(pixels);
      const torch::Tensor loss = (made.map.mean({2, 3}) + made.global - wanted).square().mean();
      values.push_back(loss.item<double>());
      loss.backward();
      optimiser.step(1.0);
    }
    return values;
  };
  const std::vector<double> exact = losses(Precision::float32);
  const std::vector<double> coarse = losses(Precision::bfloat16);
  EXPECT_LT(coarse.back(), 0.5 * coarse.front());
  EXPECT_NEAR(coarse.front(), exact.front(), 0.05 * exact.front());
  EXPECT_NEAR(coarse.back(), exact.back(), 0.2 * exact.front());
}

// How many of the rows are alike, kind by kind. A row's place in its batch changes its last bits.
std::vector<std::int64_t> kinds_of(const torch::Tensor& rows) {
  const double close = 1e-3 * rows.abs().max().item<double>();
  std::vector<std::int64_t> kinds;
  torch::Tensor left = rows;
  while (left.size(0) > 0) {
    const torch::Tensor differs = (left - left[0]).abs().amax(1) > close;
    kinds.push_back(left.size(0) - differs.sum().item<std::int64_t>());
    left = left.index({differs});
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

TEST(DropPath, LeavesOutTheBranchesOfEachPhotoByItself) {
  for (const char* architecture : {kTransformers[0], "small"}) {
    const Model model =
        std::string_view(architecture) == "small" ? lived_in("small") : lively(architecture);
    const TrainableNetwork network(model, torch::kCPU);
    const torch::Tensor one = some_pixels(1, 32);
    const torch::Tensor pixels = one.expand({64, -1, -1, -1}).contiguous();
    const torch::NoGradGuard no_gradient;
    const torch::Tensor whole = network.forward(pixels).map;
    EXPECT_TRUE(network.forward(pixels, {.rate = 0.0, .seed = 3}).map.equal(whole));
    const auto maps = [&](std::uint64_t seed) {
      return network.forward(pixels, {.rate = 0.5, .seed = seed}).map;
    };
    const torch::Tensor some = maps(3);
    EXPECT_TRUE(some.equal(maps(3))) << "the same step gives the same";
    EXPECT_FALSE(some.equal(maps(4)));
    // One photo, several maps.
    EXPECT_GE(kinds_of(some.flatten(1)).size(), 2U) << architecture;
  }
}

TEST(DropPath, DoesNotDependOnHowTheBatchIsDivided) {
  const TrainableNetwork network(lively(kTransformers[1]), torch::kCPU);
  const torch::Tensor pixels = some_pixels(8, 48);
  const torch::NoGradGuard no_gradient;
  const torch::Tensor whole = network.forward(pixels, {.rate = 0.7, .seed = 5}).map;
  const torch::Tensor half =
      network.forward(pixels.narrow(0, 4, 4), {.rate = 0.7, .seed = 5, .first_place = 4}).map;
  EXPECT_LT((whole.narrow(0, 4, 4) - half).abs().max().item<double>(),
            1e-4 * whole.abs().max().item<double>());
}

// With two blocks the first is never left out, and the second at the rate itself.
TEST(DropPath, LeavesOutTheLastBlockAtItsRateAndTheFirstNever) {
  const std::string plain =
      "vit:width=32,depth=2,heads=2,patch=8,pixels=32,class_token=no,pool=mean";
  const TrainableNetwork network(lively(plain.c_str()), torch::kCPU);
  const torch::NoGradGuard no_gradient;
  constexpr double kRate = 0.25;
  constexpr std::int64_t kPhotos = 512;
  const torch::Tensor pixels = some_pixels(1, 32).expand({kPhotos, -1, -1, -1}).contiguous();
  const torch::Tensor some = network.forward(pixels, {.rate = kRate, .seed = 9}).map.flatten(1);
  // Of the last block's two branches both count, or one of them, or none.
  const std::vector<std::int64_t> kinds = kinds_of(some);
  ASSERT_EQ(kinds.size(), 4U);
  const auto share = [&](std::size_t k) { return static_cast<double>(kinds[k]) / kPhotos; };
  EXPECT_NEAR(share(3), (1 - kRate) * (1 - kRate), 0.08);
  EXPECT_NEAR(share(0), kRate * kRate, 0.05);
}

TEST(TrainableNetwork, KnowsHowManyPartsLieBehindEachParameter) {
  const TrainableNetwork transformer(lively(kTransformers[0]), torch::kCPU);
  const std::map<std::string, std::size_t> behind = transformer.parts_behind();
  EXPECT_EQ(behind.at("patch_embed.proj.weight"), 3U);
  EXPECT_EQ(behind.at("pos_embed"), 3U);
  EXPECT_EQ(behind.at("blocks.0.attn.qkv.weight"), 2U);
  EXPECT_EQ(behind.at("blocks.1.mlp.fc2.bias"), 1U);
  EXPECT_EQ(behind.at("norm.weight"), 0U);
  EXPECT_FALSE(behind.contains("projection.weight"));
  EXPECT_EQ(behind.size() + 2, transformer.parameters().size());
  const TrainableNetwork residual(lived_in("small"), torch::kCPU);
  EXPECT_EQ(residual.parts_behind().at("conv1.weight"), 3U);
  EXPECT_EQ(residual.parts_behind().at("layer3.0.conv2.weight"), 0U);
}

TEST(TrainableTransformer, HasNothingToCalibrate) {
  const Model model = lively(kTransformers[0]);
  TrainableNetwork network(model, torch::kCPU);
  network.calibrate(some_pixels(2, 32));
  for (const auto& [name, tensor] : network.model().tensors) {
    EXPECT_EQ(model.tensors.at(name).bytes, tensor.bytes) << name;
  }
}

TEST(TrainableNetwork, TakesTheArraysOfItsOwnShapeAlone) {
  const Model model = lived_in("small");
  TrainableNetwork network(make_model("small", StridePlace::in_3x3, 16, 9), torch::kCPU);
  network.load(model);
  const Model loaded = network.model();
  for (const auto& [name, tensor] : model.tensors) {
    EXPECT_EQ(loaded.tensors.at(name).bytes, tensor.bytes) << name;
  }
  EXPECT_THROW(network.load(make_model("small", StridePlace::in_3x3, 1, 9)), Error);
  Model fewer = model;
  fewer.tensors.erase("conv1.weight");
  EXPECT_THROW(network.load(fewer), Error);
  EXPECT_THROW(TrainableNetwork(make_model("small", StridePlace::in_3x3, 0, 1), torch::kCPU),
               Error);
}

}  // namespace
}  // namespace diml::learn
