#include "finish.h"

#include <gtest/gtest.h>

namespace diml::learn {
namespace {

struct Layer {
  torch::Tensor input;
  torch::Tensor kernel;
  torch::Tensor bias;
  torch::Tensor shortcut;  // undefined for none

  std::vector<torch::Tensor> leaves() const {
    std::vector<torch::Tensor> all = {input, kernel, bias};
    if (shortcut.defined()) all.push_back(shortcut);
    return all;
  }
};

Layer some_layer(std::int64_t channels, std::int64_t side, bool shortcut) {
  torch::manual_seed(7);
  const auto leaf = [](at::IntArrayRef shape) { return torch::randn(shape, torch::kFloat64); };
  Layer layer{leaf({3, 8, side, side}), leaf({channels, 8, 3, 3}) * 0.2, leaf({channels}), {}};
  if (shortcut) layer.shortcut = leaf({3, channels, (side + 1) / 2, (side + 1) / 2});
  return layer;
}

Layer placed(const Layer& layer, torch::Device device, torch::ScalarType type) {
  const auto put = [&](const torch::Tensor& values) {
    if (!values.defined()) return values;
    const torch::Tensor there = values.detach().to(device, type);
    return (values.dim() == 4 ? there.contiguous(torch::MemoryFormat::ChannelsLast)
                              : there.contiguous())
        .clone()
        .set_requires_grad(true);
  };
  return {put(layer.input), put(layer.kernel), put(layer.bias), put(layer.shortcut)};
}

torch::Tensor by_operations(const Layer& layer) {
  torch::Tensor map = torch::conv2d(layer.input, layer.kernel, layer.bias, 2, 1);
  if (layer.shortcut.defined()) map = map + layer.shortcut;
  return torch::relu(map);
}

torch::Tensor by_finish(const Layer& layer) {
  return finished_convolution(layer.input, layer.kernel, layer.bias, layer.shortcut, 2, 1);
}

// Values, and gradients of a function that weighs every position differently.
std::vector<torch::Tensor> values_and_gradients(const torch::Tensor& map, const Layer& layer) {
  torch::manual_seed(8);
  const torch::Tensor weights =
      torch::randn(map.sizes(), torch::kFloat64).to(map.device(), map.scalar_type());
  std::vector<torch::Tensor> all = torch::autograd::grad({(map * weights).sum()}, layer.leaves());
  all.insert(all.begin(), map.detach());
  return all;
}

void expect_near(const std::vector<torch::Tensor>& found,
                 const std::vector<torch::Tensor>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    const torch::Tensor x = found[k].to(torch::kCPU, torch::kFloat64);
    const torch::Tensor y = expected[k].to(torch::kCPU, torch::kFloat64);
    const auto largest = y.abs().max().item<double>();
    EXPECT_GT(largest, 0.0);
    EXPECT_LT((x - y).abs().max().item<double>(), tolerance * largest) << "array " << k;
  }
}

TEST(Finish, GivesTheValuesAndGradientsOfTheSingleOperations) {
  for (const bool shortcut : {false, true}) {
    const Layer layer = placed(some_layer(24, 9, shortcut), torch::kCPU, torch::kFloat64);
    expect_near(values_and_gradients(by_finish(layer), layer),
                values_and_gradients(by_operations(layer), layer), 1e-13);
  }
}

TEST(Finish, PixelsGetNoGradient) {
  Layer layer = placed(some_layer(24, 9, false), torch::kCPU, torch::kFloat64);
  layer.input.set_requires_grad(false);
  by_finish(layer).sum().backward();
  EXPECT_FALSE(layer.input.grad().defined());
  EXPECT_TRUE(layer.kernel.grad().defined());
}

// Gradients in double precision for the positions that the given map let pass: near ReLU's
// threshold, precisions differ in what passes, and gradients jump.
std::vector<torch::Tensor> by_what_passed(const torch::Tensor& map, const Layer& layer) {
  const auto exact = [](const torch::Tensor& values) {
    return values.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  };
  torch::manual_seed(8);
  const torch::Tensor before =
      torch::randn(map.sizes(), torch::kFloat64).to(map.scalar_type()).to(torch::kFloat64) *
      (exact(map) > 0);
  const Layer leaves = placed({layer.input, layer.kernel, torch::zeros({map.size(1)}), {}},
                              torch::kCPU, torch::kFloat64);
  const torch::Tensor sums = torch::conv2d(leaves.input, leaves.kernel, leaves.bias, 2, 1);
  std::vector<torch::Tensor> all = torch::autograd::grad({(sums * before).sum()}, leaves.leaves());
  if (layer.shortcut.defined()) all.push_back(before);
  return all;
}

void expect_finished(const Layer& layer, const Layer& exact, double of_map, double of_gradients) {
  const torch::Tensor map = by_finish(layer);
  std::vector<torch::Tensor> found = values_and_gradients(map, layer);
  std::vector<torch::Tensor> expected = by_what_passed(map, layer);
  expect_near({map.detach()}, {by_operations(exact).detach()}, of_map);
  found.erase(found.begin());
  expect_near(found, expected, of_gradients);
}

TEST(Finish, InFloat32GradientsAreOfWhatPassed) {
  for (const bool shortcut : {false, true}) {
    const Layer layer = some_layer(24, 9, shortcut);
    expect_finished(placed(layer, torch::kCPU, torch::kFloat32),
                    placed(layer, torch::kCPU, torch::kFloat64), 1e-5, 1e-5);
  }
}

// The kernels; more channels than a block has threads for, and numbers of channels and rows that
// are no powers of two.
TEST(Finish, OnAGpuItIsTheSame) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const torch::Device gpu(torch::kCUDA, 0);
  for (const std::int64_t channels : {8, 24, 64, 1000, 2048, 4096, 7}) {
    for (const bool shortcut : {false, true}) {
      SCOPED_TRACE(std::to_string(channels) + (shortcut ? " channels, shortcut" : " channels"));
      const Layer layer = some_layer(channels, channels > 2000 ? 9 : 41, shortcut);
      const Layer exact = placed(layer, torch::kCPU, torch::kFloat64);
      // TF32 keeps ten bits of a product's factors, bfloat16 seven.
      expect_finished(placed(layer, gpu, torch::kFloat32), exact, 3e-3, 3e-3);
      const Layer half = placed(layer, gpu, torch::kBFloat16);
      expect_finished(half, exact, 2e-2, 2e-2);
      // Before it is rounded once, the sum is float32; single operations round each time.
      if (channels % 8 != 0) continue;
      torch::Tensor map = torch::conv2d(half.input, half.kernel, {}, 2, 1).detach();
      torch::Tensor expected = map.to(torch::kFloat32) + half.bias.detach().view({1, -1, 1, 1});
      if (shortcut) expected = expected + half.shortcut.detach();
      expected = torch::relu(expected).to(torch::kBFloat16);
      const torch::NoGradGuard no_gradient;
      finish_(map, half.bias, half.shortcut);
      EXPECT_TRUE(torch::equal(map, expected));
    }
  }
}

}  // namespace
}  // namespace diml::learn
