#include <gtest/gtest.h>

#include "as_tensors.h"
#include "diml/error.h"
#include "diml/learn/loss.h"

namespace diml::learn::test {
namespace {

constexpr std::int64_t kClasses = 4;
constexpr std::int64_t kDim = 6;
constexpr std::int64_t kCells = 3;

struct Batch {
  const char* name;
  std::vector<std::int64_t> labels;
  torch::Tensor globals;  // [N, kDim]
};

torch::Tensor random_vectors(std::int64_t count) {
  const PlainGrids grids = random_grids(static_cast<std::size_t>(count), 1, kDim, 4);
  return tensor_of(grids.globals, {count, kDim}).to(torch::kFloat32);
}

std::vector<Batch> degenerate_batches() {
  const torch::Tensor one = random_vectors(1);
  const torch::Tensor signs = torch::tensor({1.0f, -1.0f, 1.0f, -1.0f}).unsqueeze(1);
  torch::Tensor with_zeros = random_vectors(4).clone();
  with_zeros[1].zero_();
  with_zeros[2].zero_();
  return {
      {"identical", {0, 0, 1, 1}, one.repeat({4, 1})},
      {"one class", {2, 2, 2, 2}, random_vectors(4)},
      {"one class, identical", {2, 2, 2, 2}, one.repeat({4, 1})},
      {"classes of one image", {0, 1, 2, 3}, random_vectors(4)},
      {"one image", {1}, one},
      {"two classes", {0, 0, 1, 1}, random_vectors(4)},
      {"antipodal within classes", {0, 0, 1, 1}, one.repeat({4, 1}) * signs},
      {"antipodal between classes", {0, 1, 0, 1}, one.repeat({4, 1}) * signs},
      {"zeros among others", {0, 0, 1, 1}, with_zeros},
      {"zeros alone", {0, 0, 1, 1}, torch::zeros({4, kDim})},
      {"no spread over the dimensions", {0, 0, 1, 1}, torch::ones({4, kDim})},
      {"huge", {0, 0, 1, 1}, random_vectors(4) * 1e4},
      {"tiny", {0, 0, 1, 1}, random_vectors(4) * 1e-4},
  };
}

class Degenerate : public testing::TestWithParam<std::string> {};

TEST_P(Degenerate, BatchesGiveFiniteValuesAndGradients) {
  for (const MeasureKind kind : {MeasureKind::global, MeasureKind::blended}) {
    for (const Batch& batch : degenerate_batches()) {
      // Proxies as drawn, and all of them right at the first image: cosines of exactly 1 and -1.
      for (const bool proxies_on_images : {false, true}) {
        const PairMeasure measure({.kind = kind});
        const std::unique_ptr<Loss> loss = make_loss(
            {.name = GetParam()},
            {.classes = kClasses, .dim = kDim, .cells = kind == MeasureKind::global ? 0 : kCells});
        const std::vector<LossParameter> parameters = loss->parameters();
        if (proxies_on_images && (parameters.empty() || parameters[0].name == "beta")) continue;
        if (proxies_on_images) {
          torch::Tensor proxies = parameters[0].value;
          proxies.data().copy_(batch.globals[0].expand_as(proxies));
        }
        Leaves leaves(batch.globals.clone(), batch.globals.unsqueeze(1).repeat({1, kCells, 1}));
        const torch::Tensor value =
            (*loss)({leaves.grids, torch::tensor(batch.labels), measure, 1});
        value.backward();
        const std::string where = std::string(batch.name) + ", " + name_of(kind);
        EXPECT_EQ(value.dim(), 0) << where;
        EXPECT_TRUE(value.isfinite().item<bool>()) << where;
        const auto expect_finite = [&](const torch::Tensor& gradient, const char* what) {
          if (!gradient.defined()) return;
          EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << where << ", " << what;
        };
        expect_finite(leaves.globals.grad(), "globals");
        expect_finite(leaves.cells.grad(), "cells");
        for (const LossParameter& parameter : parameters) {
          expect_finite(parameter.value.grad(), parameter.name.c_str());
        }
      }
    }
  }
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const LossKind& kind : loss_kinds()) names.emplace_back(kind.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Losses, Degenerate, testing::ValuesIn(loss_names()),
                         [](const testing::TestParamInfo<std::string>& tested) {
                           return tested.param;
                         });

std::string refusal(const LossParams& params, const LossContext& context = {.classes = 4}) {
  try {
    make_loss(params, context);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LossTable, UnknownNamesAreAnsweredWithTheNearest) {
  EXPECT_EQ(refusal({.name = "margn"}), "there is no loss 'margn': did you mean margin?");
  EXPECT_EQ(refusal({.name = "proxy_anchor"}),
            "there is no loss 'proxy_anchor': did you mean proxyanchor?");
  EXPECT_EQ(refusal({.name = "margin", .numbers = {{"bta", 1.0}}}),
            "there is no number of the loss margin 'bta': did you mean beta?");
  EXPECT_EQ(refusal({.name = "margin", .miner = "semi-hard"}),
            "there is no miner 'semi-hard': did you mean semihard?");
  EXPECT_EQ(refusal({.name = "triplet", .miner = "semihard", .miner_numbers = {{"margine", 1.0}}}),
            "there is no number of the miner semihard 'margine': did you mean margin?");
  EXPECT_EQ(refusal({.name = "triplet", .miner = "random", .miner_numbers = {{"margin", 1.0}}}),
            "the miner random has no numbers: leave out 'margin'");
}

TEST(LossTable, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(refusal({.name = "softmax", .miner = "random"}),
            "the loss softmax uses the whole batch and takes no miner: leave the miner out");
  EXPECT_NE(refusal({.name = "softmax", .numbers = {{"temperature", 0.0}}}), "");
  EXPECT_NE(refusal({.name = "histogram", .numbers = {{"bins", 1.0}}}), "");
  EXPECT_NE(refusal({.name = "margin", .numbers = {{"margin", std::nan("")}}}), "");
  EXPECT_EQ(refusal({.name = "proxynca"}, {.classes = 1}),
            "the loss proxynca needs at least 2 classes, not 1: train on more");
}

TEST(LossTable, LearningRatesAreThoseOfTheMethod) {
  const LossContext context{.classes = 4, .dim = 8, .learning_rate = 1e-5};
  const auto rate = [&](const char* name) {
    return make_loss({.name = name}, context)->parameters().at(0).learning_rate;
  };
  EXPECT_DOUBLE_EQ(rate("proxynca"), 50.0 * 1e-5);
  EXPECT_DOUBLE_EQ(rate("softmax"), 1e-5);
  EXPECT_DOUBLE_EQ(rate("margin"), 5e-4);
  EXPECT_DOUBLE_EQ(rate("arcface"), 5e-4);
  EXPECT_DOUBLE_EQ(rate("proxyanchor"), 100.0 * 1e-5);
  const auto given =
      make_loss({.name = "proxyanchor", .numbers = {{"proxy_lr_factor", 1000.0}}}, context);
  EXPECT_DOUBLE_EQ(given->parameters()[0].learning_rate, 1e-2);
}

TEST(LossTable, ProxiesComeFromTheSeedAndTheirMeanNotFromTheCells) {
  const auto proxies = [](std::int64_t cells, std::uint64_t seed) {
    return make_loss({.name = "proxynca"}, {.classes = 4, .dim = 8, .cells = cells, .seed = seed})
        ->parameters()[0]
        .value.detach();
  };
  EXPECT_EQ(proxies(0, 1).sizes().vec(), (std::vector<std::int64_t>{4, 1, 8}));
  EXPECT_EQ(proxies(9, 1).sizes().vec(), (std::vector<std::int64_t>{4, 9, 8}));
  EXPECT_TRUE(proxies(9, 1).equal(proxies(9, 1)));
  EXPECT_FALSE(proxies(9, 1).equal(proxies(9, 2)));
  EXPECT_TRUE(proxies(9, 1).mean(1).allclose(proxies(0, 1).mean(1), 1e-4, 1e-6));
}

}  // namespace
}  // namespace diml::learn::test
