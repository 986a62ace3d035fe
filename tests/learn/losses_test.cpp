#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "as_tensors.h"
#include "diml/error.h"
#include "losses/pairs.h"
#include "naive_losses.h"

namespace diml::learn::test {
namespace {

constexpr std::size_t kClasses = 6;  // the last is not in the batch, two have one image
constexpr std::size_t kDim = 5;
constexpr std::size_t kBatchCells = 4;
constexpr std::size_t kProxyCells = 3;
constexpr std::uint64_t kSeed = 9;
const std::vector<std::size_t> kLabels = {0, 1, 0, 2, 1, 3, 0, 2, 4};

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const torch::Tensor& pairs) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (std::int64_t k = 0; k < pairs.size(0); ++k) {
    result.emplace_back(pairs[k][0].item<std::int64_t>(), pairs[k][1].item<std::int64_t>());
  }
  return result;
}

const LossKind& kind_of(const std::string& name) {
  return *std::find_if(loss_kinds().begin(), loss_kinds().end(),
                       [&](const LossKind& kind) { return kind.name == name; });
}

// The point at which a loss is evaluated: all its inputs.
struct Point {
  PlainGrids batch;
  std::vector<double> learnt;  // the loss's parameter, if it has one

  std::vector<std::vector<double>*> coordinates() {
    return {&batch.globals, &batch.cells, &learnt};
  }
};

// A loss in torch and in plain loops, at one point. Constants of the gradient (plans, choices,
// weights) are computed at the point and kept for its neighbours.
class Comparison {
 public:
  Comparison(const NaiveLoss& naive, Kind kind, std::uint64_t seed)
      : naive_(naive),
        kind_(kind),
        cells_(kind == Kind::global ? 0 : kProxyCells),
        measure_({.kind = torch_kind(kind), .backend = Backend::reference}) {
    LossParams params{.name = naive.name};
    if (naive.name == "softtriple") params.numbers["centers"] = kCenters;
    loss_ = make_loss(params,
                      {.classes = kClasses, .dim = kDim, .cells = signed_of(cells_), .seed = seed});
    point_.batch = random_grids(kLabels.size(), kBatchCells, kDim, seed);
    for (const LossParameter& parameter : loss_->parameters()) {
      parameter_ = parameter.value;
      parameter_.set_data(parameter_.to(torch::kFloat64));
      point_.learnt = numbers_of(parameter_);
      // Boundaries that differ, as they do once they have learnt.
      for (std::size_t k = 0; naive.name == "margin" && k < kClasses; ++k) {
        point_.learnt[k] += 0.05 * static_cast<double>(k);
        parameter_.data()[signed_of(k)] = point_.learnt[k];
      }
    }
    freeze();
  }

  torch::Tensor value(Leaves& leaves) { return (*loss_)({leaves.grids, labels_, measure_, kSeed}); }
  double naive_value() const { return naive_value(point_); }

  void expect_same_value() {
    Leaves leaves(point_.batch);
    const auto expected = naive_value();
    EXPECT_NEAR(value(leaves).item<double>(), expected, 1e-5 * (1.0 + std::abs(expected)));
  }

  void expect_same_gradients() {
    Leaves leaves(point_.batch);
    value(leaves).backward();
    std::vector<torch::Tensor> gradients = {leaves.globals.grad(), leaves.cells.grad()};
    if (parameter_.defined()) gradients.push_back(parameter_.grad());
    double largest = 0.0;
    double error = 0.0;
    Point moved = point_;
    for (std::size_t which = 0; which < moved.coordinates().size(); ++which) {
      std::vector<double>& numbers = *moved.coordinates()[which];
      if (numbers.empty()) continue;
      // None at all where nothing depends on it: cells for a global measure.
      std::vector<double> gradient(numbers.size());
      if (gradients[which].defined()) gradient = numbers_of(gradients[which]);
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        constexpr double kStep = 1e-6;
        const double there = numbers[k];
        numbers[k] = there + kStep;
        const double above = naive_value(moved);
        numbers[k] = there - kStep;
        const double below = naive_value(moved);
        numbers[k] = there;
        error = std::max(error, std::abs(gradient[k] - (above - below) / (2.0 * kStep)));
        largest = std::max(largest, std::abs(gradient[k]));
      }
    }
    EXPECT_GT(largest, 1e-3) << "a test of nothing";
    EXPECT_LT(error, 1e-5 * (1.0 + largest));
  }

 private:
  PlainGrids proxies_at(const Point& point) const {
    return grids_of_proxies(point.learnt, kClasses * naive_.proxies, cells_, kDim);
  }

  void freeze() {
    Leaves leaves(point_.batch);
    const LossInput input{leaves.grids, labels_, measure_, kSeed};
    const std::string miner = kind_of(naive_.name).miner;
    if (!miner.empty()) {
      const std::unique_ptr<Miner> own = make_miner(miner);
      const Mined mined = mine(*own, input);
      input_.positives = pairs_of(mined.positives);
      input_.negatives = pairs_of(mined.negatives);
      const Triplets triplets = triplets_of(mined, signed_of(kLabels.size()));
      const SecondNegatives second = second_negatives(triplets, labels_, kSeed);
      EXPECT_TRUE(second.found.all().item<bool>());
      for (const double image : numbers_of(second.images)) {
        input_.second_negatives.push_back(static_cast<std::size_t>(image));
      }
    }
    input_.labels = kLabels;
    input_.classes = kClasses;
    if (kind_ != Kind::global) {
      if (naive_.proxies == 0) within_plans_ = plans_between(point_.batch, point_.batch);
      if (naive_.proxies > 0) against_plans_ = plans_between(point_.batch, proxies_at(point_));
    }
    if (naive_.proxies == 0) {
      input_.frozen = measured(kind_, naive_.what, point_.batch, point_.batch, within_plans_);
    }
  }

  double naive_value(const Point& point) const {
    NaiveInput input = input_;
    for (std::size_t k = 0; k < kLabels.size(); ++k) input.norms.push_back(point.batch.norm(k));
    if (naive_.proxies > 0) {
      const PlainGrids proxies = proxies_at(point);
      input.against = measured(kind_, naive_.what, point.batch, proxies, against_plans_);
      for (std::size_t k = 0; k < proxies.size; ++k) {
        input.proxy_globals.push_back(proxies.unit_global(k));
      }
    } else {
      input.within = measured(kind_, naive_.what, point.batch, point.batch, within_plans_);
      input.beta = point.learnt;
    }
    return naive_.value(input);
  }

  const NaiveLoss& naive_;
  Kind kind_;
  std::size_t cells_;
  PairMeasure measure_;
  std::unique_ptr<Loss> loss_;
  torch::Tensor parameter_;
  torch::Tensor labels_ = torch::tensor(std::vector<std::int64_t>(kLabels.begin(), kLabels.end()));
  Point point_;
  NaiveInput input_;
  Plans within_plans_;
  Plans against_plans_;
};

struct LossCase {
  std::string name;
  Kind kind;
};

class Losses : public testing::TestWithParam<LossCase> {
 protected:
  const NaiveLoss& naive() const {
    return *std::find_if(naive_losses().begin(), naive_losses().end(),
                         [](const NaiveLoss& loss) { return loss.name == GetParam().name; });
  }
};

TEST_P(Losses, HaveTheValueOfTheirFormula) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Comparison(naive(), GetParam().kind, seed).expect_same_value();
  }
}

TEST_P(Losses, HaveTheGradientOfTheirFormula) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Comparison(naive(), GetParam().kind, seed).expect_same_gradients();
  }
}

std::vector<LossCase> loss_cases() {
  std::vector<LossCase> cases;
  for (const LossKind& loss : loss_kinds()) {
    for (const Kind kind : {Kind::global, Kind::structural, Kind::blended}) {
      cases.push_back({loss.name, kind});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, Losses, testing::ValuesIn(loss_cases()),
                         [](const testing::TestParamInfo<LossCase>& tested) {
                           return tested.param.name + "_" + name_of(torch_kind(tested.param.kind));
                         });

TEST(UnrolledLosses, HaveTheGradientOfTheWholeComputation) {
  const torch::Tensor labels = torch::tensor({0, 0, 1, 1, 2}, torch::kInt64);
  const PlainGrids plain = random_grids(5, 3, 4, 3);
  const PairMeasure measure(
      {.kind = MeasureKind::blended,
       .plan_gradient = PlanGradient::unrolled,
       .match = {.transport = {.lambda = 0.2, .tolerance = 0.0, .max_iterations = 10}}});
  for (const char* name : {"contrastive", "proxynca"}) {
    const std::unique_ptr<Loss> loss =
        make_loss({.name = name}, {.classes = 3, .dim = 4, .cells = 2});
    for (const LossParameter& parameter : loss->parameters()) {
      torch::Tensor value = parameter.value;
      value.set_data(value.to(torch::kFloat64));
    }
    const auto value = [&](const Leaves& leaves) {
      return (*loss)({leaves.grids, labels, measure, kSeed});
    };
    Leaves leaves(plain);
    value(leaves).backward();
    const std::vector<double> gradient = numbers_of(leaves.cells.grad());
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      constexpr double kStep = 1e-5;
      const torch::NoGradGuard no_gradient;
      PlainGrids moved = plain;
      moved.cells[k] += kStep;
      const double above = value(Leaves(moved)).item<double>();
      moved.cells[k] -= 2.0 * kStep;
      const double below = value(Leaves(moved)).item<double>();
      EXPECT_NEAR(gradient[k], (above - below) / (2.0 * kStep), 1e-6) << name;
    }
  }
}

TEST(LossTable, EveryLossHasAFormulaToBeComparedWith) {
  ASSERT_EQ(loss_kinds().size(), naive_losses().size());
  for (const LossKind& kind : loss_kinds()) {
    EXPECT_TRUE(std::any_of(naive_losses().begin(), naive_losses().end(),
                            [&](const NaiveLoss& naive) { return naive.name == kind.name; }))
        << kind.name;
  }
}

// Lengths at D = 128, as the authors' code initialises them.
TEST(Proxies, BeginAsTheMethodsSay) {
  const auto length = [](const char* loss) {
    const std::unique_ptr<Loss> made =
        make_loss({.name = loss}, {.classes = 400, .dim = 128, .seed = 1});
    return made->parameters().front().value.detach().norm(2, -1).mean().item<double>();
  };
  EXPECT_NEAR(length("softmax"), 1.0 / std::sqrt(3.0), 0.01);
  EXPECT_NEAR(length("arcface"), 1.0 / std::sqrt(3.0), 0.01);
  EXPECT_NEAR(length("proxynca"), std::sqrt(2.0), 0.02);
  EXPECT_NEAR(length("proxyanchor"), 1.0, 0.02);
}

TEST(Proxies, OfUniformStartStayWithinTheirBound) {
  const std::unique_ptr<Loss> made =
      make_loss({.name = "softmax"}, {.classes = 50, .dim = 64, .seed = 1});
  const torch::Tensor values = made->parameters().front().value.detach();
  EXPECT_LE(values.abs().max().item<double>(), 0.125);
  EXPECT_GT(values.abs().max().item<double>(), 0.12);
}

}  // namespace
}  // namespace diml::learn::test
