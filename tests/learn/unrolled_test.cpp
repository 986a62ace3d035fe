#include "unrolled.h"

#include <set>

#include <gtest/gtest.h>

#include "as_tensors.h"
#include "diml/error.h"

namespace diml::learn::test {
namespace {

// 6 against 9 cells, 3 against 4 grids: a transposition cannot pass.
const PlainGrids kX = random_grids(3, 6, 7, 1);
const PlainGrids kY = random_grids(4, 9, 7, 2);
constexpr std::int64_t kPairs = 12;

struct Problem {
  torch::Tensor kernel;
  torch::Tensor log_source;
  torch::Tensor log_target;
  torch::Tensor weights;  // of the plans' cells in what is derived

  // Pairs that stop early and pairs that stop late, beside each other.
  explicit Problem(torch::Dtype type, torch::Device device = torch::kCPU) {
    const Leaves x(kX);
    const Leaves y(kY);
    const torch::NoGradGuard no_gradient;
    const torch::Tensor products =
        torch::einsum("xrd,ycd->xyrc", {x.grids.cells, y.grids.cells}).reshape({kPairs, 6, 9});
    const torch::Tensor sharpness = torch::linspace(1.0, 12.0, kPairs, torch::kFloat64);
    kernel = (products * sharpness.view({kPairs, 1, 1})).to(type);
    const auto logs = [&](std::int64_t cells) {
      const torch::Tensor steps = torch::arange(kPairs * cells, torch::kFloat64);
      return torch::log_softmax(steps.mul(0.7).sin().view({kPairs, cells}), -1).to(type);
    };
    log_source = logs(6);
    log_target = logs(9);
    weights = torch::arange(kPairs * 54, torch::kFloat64).cos().view({kPairs, 6, 9}).to(type);
    for (torch::Tensor* tensor : {&kernel, &log_source, &log_target, &weights}) {
      *tensor = tensor->to(device);
    }
  }

  std::vector<torch::Tensor> leaves(std::int64_t first, std::int64_t count) const {
    std::vector<torch::Tensor> parts;
    for (const torch::Tensor& whole : {kernel, log_source, log_target}) {
      parts.push_back(whole.narrow(0, first, count).clone().requires_grad_(true));
    }
    return parts;
  }
};

TransportParams usual() { return {.tolerance = 1e-4, .max_iterations = 1000}; }

struct Derived {
  torch::Tensor plans;
  std::vector<torch::Tensor> gradients;
};

Derived derived(const Problem& problem, const TransportParams& params, std::int64_t first,
                std::int64_t count) {
  std::vector<torch::Tensor> leaves = problem.leaves(first, count);
  const torch::Tensor plans = unrolled_sinkhorn(leaves[0], leaves[1], leaves[2], params);
  (plans * problem.weights.narrow(0, first, count)).sum().backward();
  return {plans.detach(), {leaves[0].grad(), leaves[1].grad(), leaves[2].grad()}};
}

// The iterations of one pair as autograd sees them, and how many there were.
std::pair<Derived, int> by_autograd(const Problem& problem, const TransportParams& params,
                                    std::int64_t pair) {
  std::vector<torch::Tensor> leaves = problem.leaves(pair, 1);
  const torch::Tensor kernel = leaves[0][0];
  torch::Tensor log_b = torch::zeros_like(leaves[2][0]);
  torch::Tensor plan;
  int iterations = 0;
  double error = 1.0;
  while (iterations < params.max_iterations && error >= params.tolerance) {
    const torch::Tensor log_a = leaves[1][0] - torch::logsumexp(kernel + log_b.unsqueeze(0), 1);
    log_b = leaves[2][0] - torch::logsumexp(kernel + log_a.unsqueeze(1), 0);
    plan = (kernel + log_a.unsqueeze(1) + log_b.unsqueeze(0)).exp();
    error = (plan.detach().sum(1) - leaves[1][0].detach().exp()).abs().sum().item<double>();
    ++iterations;
  }
  (plan * problem.weights[pair]).sum().backward();
  return {{plan.detach(), {leaves[0].grad(), leaves[1].grad(), leaves[2].grad()}}, iterations};
}

TEST(UnrolledPlans, OfAPairAndTheirGradientDoNotDependOnThePairsBesideIt) {
  for (const torch::Dtype type : {torch::kFloat32, torch::kFloat64}) {
    const Problem problem(type);
    const Derived together = derived(problem, usual(), 0, kPairs);
    for (const std::int64_t size : {1, 5}) {
      for (std::int64_t first = 0; first + size <= kPairs; ++first) {
        const Derived part = derived(problem, usual(), first, size);
        EXPECT_TRUE(part.plans.equal(together.plans.narrow(0, first, size)))
            << type << ", pairs " << first << " to " << first + size;
        for (std::size_t k = 0; k < 3; ++k) {
          EXPECT_TRUE(part.gradients[k].equal(together.gradients[k].narrow(0, first, size)))
              << type << ", pairs " << first << " to " << first + size << ", input " << k;
        }
      }
    }
  }
}

TEST(UnrolledPlans, HaveTheGradientThatAutogradFindsThroughTheSameIterations) {
  const Problem problem(torch::kFloat64);
  // With the second one some pairs converge and others reach the limit.
  for (const int most : {1000, 20}) {
    TransportParams params = usual();
    params.max_iterations = most;
    const Derived together = derived(problem, params, 0, kPairs);
    std::set<int> counts;
    for (std::int64_t pair = 0; pair < kPairs; ++pair) {
      const auto [expected, iterations] = by_autograd(problem, params, pair);
      counts.insert(iterations);
      const auto difference = [&](const torch::Tensor& all, const torch::Tensor& one) {
        return (all[pair] - one).abs().max().item<double>();
      };
      EXPECT_LT(difference(together.plans, expected.plans), 1e-12) << pair;
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_LT(difference(together.gradients[k], expected.gradients[k][0]), 1e-9)
            << "pair " << pair << ", input " << k << ", " << iterations << " iterations";
      }
    }
    EXPECT_GE(counts.size(), 3u) << "they all stop together: a test of nothing";
  }
}

TEST(UnrolledPlans, HaveTheGradientOfTheirDifferences) {
  const Problem problem(torch::kFloat64);
  const Derived together = derived(problem, usual(), 0, kPairs);
  const torch::NoGradGuard no_gradient;
  const std::vector<torch::Tensor> at = {problem.kernel, problem.log_source, problem.log_target};
  for (std::size_t input = 0; input < at.size(); ++input) {
    for (std::int64_t k = 0; k < at[input].numel(); k += 7) {
      constexpr double kStep = 1e-6;
      const auto value = [&](double step) {
        std::vector<torch::Tensor> moved = {at[0].clone(), at[1].clone(), at[2].clone()};
        moved[input].view({-1})[k] += step;
        return (unrolled_sinkhorn(moved[0], moved[1], moved[2], usual()) * problem.weights)
            .sum()
            .item<double>();
      };
      EXPECT_NEAR(together.gradients[input].reshape({-1})[k].item<double>(),
                  (value(kStep) - value(-kStep)) / (2.0 * kStep), 1e-7)
          << "input " << input << ", number " << k;
    }
  }
}

TEST(UnrolledPlans, OfAGpuAreThoseOfTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "there is no GPU that LibTorch can use";
  const Derived expected = derived(Problem(torch::kFloat64), usual(), 0, kPairs);
  const Derived found = derived(Problem(torch::kFloat64, torch::kCUDA), usual(), 0, kPairs);
  EXPECT_TRUE(found.plans.cpu().allclose(expected.plans, 0.0, 1e-12));
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_TRUE(found.gradients[k].cpu().allclose(expected.gradients[k], 0.0, 1e-9)) << k;
  }
  const PairMeasure measure(
      {.kind = MeasureKind::blended, .plan_gradient = PlanGradient::unrolled});
  const Leaves many(torch::rand({60, 4}, torch::kCUDA), torch::rand({60, 9, 4}, torch::kCUDA));
  measure.similarity(many.grids, many.grids).sum().backward();
  EXPECT_NE(measure.unrolled_memory().find("iterations; cuda:0 has "), std::string::npos)
      << measure.unrolled_memory();
}

// Not only near it: at a loose tolerance plans still change by more than this from one iteration to
// the next.
TEST(UnrolledPlans, StopWhereTheReferenceStops) {
  for (const MarginalRule rule : kMarginalRules) {
    const MatchParams match{.marginals = rule, .transport = {.tolerance = 1e-2}};
    const PairMeasure measure(
        {.kind = MeasureKind::structural, .plan_gradient = PlanGradient::unrolled, .match = match});
    const Matrix expected =
        measured(Kind::structural, test::Local::similarity, kX, kY, plans_between(kX, kY, match));
    const torch::Tensor found = measure.similarity(Leaves(kX).grids, Leaves(kY).grids);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 4; ++j) {
        EXPECT_NEAR(found[i][j].item<double>(),
                    expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)], 1e-6)
            << i << ", " << j;
      }
    }
  }
}

TEST(UnrolledPlans, WithoutRoomForThemAreRefusedBeforeTheyBegin) {
  const Leaves many(random_grids(60, 9, 4, 1));
  const auto ask = [&](int iterations) {
    const PairMeasure measure({.kind = MeasureKind::blended,
                               .plan_gradient = PlanGradient::unrolled,
                               .match = {.transport = {.max_iterations = iterations}}});
    measure.similarity(many.grids, many.grids);
    return measure.unrolled_memory();
  };
  EXPECT_EQ(ask(50).find("unrolled plans need at most 101 MB for 3600 pairs of 9 and 9 cells in 50 "
                         "iterations; cpu has "),
            0u)
      << ask(50);
  try {
    ask(kMostIterations);  // 11 TB
    FAIL() << "there was room";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* word : {"11 TB", "3600 pairs", "cpu has ", "sampler.batch",
                             "measure.max_iterations", "measure.plan_gradient constant"}) {
      EXPECT_NE(text.find(word), std::string::npos) << text;
    }
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
  const torch::NoGradGuard nothing_is_kept;
  EXPECT_EQ(ask(kMostIterations), "");
}

}  // namespace
}  // namespace diml::learn::test
