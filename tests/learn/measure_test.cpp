#include "diml/learn/measure.h"

#include <gtest/gtest.h>

#include "as_tensors.h"
#include "diml/error.h"
#include "match/marginal_weight.h"

namespace diml::learn::test {
namespace {

// 6 against 9 cells, 3 against 4 grids: a transposition cannot pass.
const PlainGrids kX = random_grids(3, 6, 7, 1);
const PlainGrids kY = random_grids(4, 9, 7, 2);

MatchParams tight() { return {.transport = {.tolerance = 1e-9, .max_iterations = 20000}}; }

torch::Tensor ask(const PairMeasure& measure, Local what, const Grids& x, const Grids& y) {
  if (what == Local::similarity) return measure.similarity(x, y);
  return what == Local::distance ? measure.distance(x, y) : measure.noise(x, y);
}

void expect_near(const torch::Tensor& found, const Matrix& expected, double tolerance) {
  ASSERT_EQ(found.sizes().vec(),
            (std::vector<std::int64_t>{signed_of(expected.size()), signed_of(expected[0].size())}));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      EXPECT_NEAR(found[signed_of(i)][signed_of(j)].item<double>(), expected[i][j],
                  tolerance * (1.0 + std::abs(expected[i][j])))
          << "pair " << i << ", " << j;
    }
  }
}

struct MeasureCase {
  Kind kind;
  Local what;
  PlanGradient gradient;
  MarginalRule marginals;
};

std::string name_of_case(const testing::TestParamInfo<MeasureCase>& info) {
  const MeasureCase& c = info.param;
  const char* local_names[] = {"Similarity", "Distance", "Noise"};
  return std::string(local_names[static_cast<int>(c.what)]) + "_" + name_of(torch_kind(c.kind)) +
         "_" + name_of(c.gradient) + "_" + name_of(c.marginals);
}

class Measure : public testing::TestWithParam<MeasureCase> {};

TEST_P(Measure, IsWhatMatchingEveryPairInDoubleGives) {
  const MeasureCase& c = GetParam();
  MatchParams match = tight();
  match.marginals = c.marginals;
  const PairMeasure measure({.kind = torch_kind(c.kind),
                             .plan_gradient = c.gradient,
                             .match = match,
                             .backend = Backend::reference});
  const Leaves x(kX);
  const Leaves y(kY);
  const Matrix expected = measured(c.kind, c.what, kX, kY, plans_between(kX, kY, match));
  expect_near(ask(measure, c.what, x.grids, y.grids), expected, 2e-6);
}

class MeasureOfPairs : public testing::TestWithParam<MeasureCase> {};

TEST_P(MeasureOfPairs, IsThatOfAllAtThosePairsWithItsGradient) {
  const MeasureCase& c = GetParam();
  MatchParams match = tight();
  match.marginals = c.marginals;
  const PairMeasure measure({.kind = torch_kind(c.kind),
                             .plan_gradient = c.gradient,
                             .match = match,
                             .backend = Backend::reference});
  const auto ask_some = [&](const Leaves& x, const Leaves& y, const torch::Tensor& pairs) {
    return c.what == Local::distance ? measure.distance(x.grids, y.grids, pairs)
                                     : measure.noise(x.grids, y.grids, pairs);
  };
  // Few and many; the same one twice.
  const torch::Tensor few = torch::tensor({2, 3, 0, 1, 2, 0, 2, 3}, torch::kInt64).view({4, 2});
  for (const torch::Tensor& pairs : {few, torch::cat({few, few}), few.narrow(0, 0, 0)}) {
    Leaves x(kX), y(kY), all_x(kX), all_y(kY);
    const torch::Tensor found = ask_some(x, y, pairs);
    const torch::Tensor expected = ask(measure, c.what, all_x.grids, all_y.grids)
                                       .index({pairs.select(1, 0), pairs.select(1, 1)});
    ASSERT_EQ(found.sizes(), expected.sizes());
    if (pairs.size(0) == 0) {
      found.sum().backward();  // a gradient of zero, not a failure
      EXPECT_EQ(x.globals.grad().abs().max().item<double>(), 0.0);
      continue;
    }
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-9);
    const torch::Tensor weights = torch::arange(1, pairs.size(0) + 1, found.options());
    (found * weights).sum().backward();
    (expected * weights).sum().backward();
    const auto expect_same = [](const torch::Tensor& one, const torch::Tensor& other, bool some) {
      ASSERT_EQ(one.grad().defined(), some);
      ASSERT_EQ(other.grad().defined(), some);
      if (some) {
        EXPECT_LT((one.grad() - other.grad()).abs().max().item<double>(), 1e-6);
        EXPECT_GT(one.grad().abs().max().item<double>(), 1e-3) << "a test of nothing";
      }
    };
    const bool of_cells = c.kind != Kind::global;
    // Globals weigh the cells, too, where the plan is not a constant.
    const bool of_globals = c.kind != Kind::structural ||
                            (c.gradient == PlanGradient::unrolled && uses_correlation(c.marginals));
    expect_same(x.cells, all_x.cells, of_cells);
    expect_same(y.cells, all_y.cells, of_cells);
    expect_same(x.globals, all_x.globals, of_globals);
    expect_same(y.globals, all_y.globals, of_globals);
  }
}

std::vector<MeasureCase> measure_cases(const std::vector<Local>& of) {
  std::vector<MeasureCase> cases;
  for (const Local what : of) {
    cases.push_back({Kind::global, what, PlanGradient::constant, MarginalRule::cross_correlation});
    for (const Kind kind : {Kind::structural, Kind::blended}) {
      for (const PlanGradient gradient : {PlanGradient::constant, PlanGradient::unrolled}) {
        for (const MarginalRule rule : kMarginalRules) {
          cases.push_back({kind, what, gradient, rule});
        }
      }
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, Measure,
                         testing::ValuesIn(measure_cases({Local::similarity, Local::distance,
                                                          Local::noise})),
                         name_of_case);
// Similarities of selected pairs do not exist: no loss needs them.
INSTANTIATE_TEST_SUITE_P(All, MeasureOfPairs,
                         testing::ValuesIn(measure_cases({Local::distance, Local::noise})),
                         name_of_case);

TEST(Measures, TheFastMatcherGivesTheSameToItsPrecision) {
  const PairMeasure fast({.kind = MeasureKind::blended});
  const PairMeasure slow({.kind = MeasureKind::blended, .backend = Backend::reference});
  const Leaves x(kX);
  const Leaves y(kY);
  EXPECT_LT((fast.distance(x.grids, y.grids) - slow.distance(x.grids, y.grids))
                .abs()
                .max()
                .item<double>(),
            1e-4);
  EXPECT_GT(fast.plan_seconds(), 0.0);
}

TEST(Measures, UnrolledGradientsAreThoseOfTheWholeComputation) {
  const PlainGrids plain_x = random_grids(2, 3, 4, 5);
  const PlainGrids plain_y = random_grids(2, 4, 4, 6);
  // Always the same number of iterations: a stop that depends on the input has no derivative.
  const PairMeasure measure(
      {.kind = MeasureKind::structural,
       .plan_gradient = PlanGradient::unrolled,
       .match = {.transport = {.lambda = 0.2, .tolerance = 0.0, .max_iterations = 12}}});
  // Different weights for the pairs, so that no two gradients cancel.
  const torch::Tensor weights = tensor_of({1.0, -0.7, 0.4, 2.0}, {2, 2});
  for (const Local what : {Local::similarity, Local::distance}) {
    Leaves x(plain_x);
    Leaves y(plain_y);
    (ask(measure, what, x.grids, y.grids) * weights).sum().backward();
    const auto check = [&](const torch::Tensor& leaf, bool globals, bool of_x) {
      const std::vector<double> gradient = numbers_of(leaf.grad());
      double largest = 0.0;
      for (std::size_t k = 0; k < gradient.size(); ++k) {
        constexpr double kStep = 1e-5;
        double difference = 0.0;
        for (const double sign : {1.0, -1.0}) {
          PlainGrids moved_x = plain_x;
          PlainGrids moved_y = plain_y;
          PlainGrids& moved = of_x ? moved_x : moved_y;
          (globals ? moved.globals : moved.cells)[k] += sign * kStep;
          const torch::NoGradGuard no_gradient;
          const torch::Tensor value =
              (ask(measure, what, Leaves(moved_x).grids, Leaves(moved_y).grids) * weights).sum();
          difference += sign * value.item<double>() / (2.0 * kStep);
        }
        EXPECT_NEAR(gradient[k], difference, 1e-7);
        largest = std::max(largest, std::abs(gradient[k]));
      }
      EXPECT_GT(largest, 1e-3);
    };
    check(x.cells, false, true);
    check(y.cells, false, false);
    check(x.globals, true, true);  // through the marginals
    check(y.globals, true, false);
  }
}

TEST(Measures, AConstantPlanGivesTheGlobalsOfAStructuralMeasureNoGradient) {
  const PairMeasure measure({.kind = MeasureKind::structural});
  Leaves x(kX);
  Leaves y(kY);
  measure.similarity(x.grids, y.grids).sum().backward();
  EXPECT_FALSE(x.globals.grad().defined());
  EXPECT_GT(x.cells.grad().abs().max().item<double>(), 0.0);
}

TEST(Measures, NamesGoThereAndBack) {
  for (const MeasureKind kind :
       {MeasureKind::global, MeasureKind::structural, MeasureKind::blended}) {
    EXPECT_EQ(measure_kind_from(name_of(kind)), kind);
  }
  EXPECT_THROW(measure_kind_from("structure"), Error);
  EXPECT_THROW(plan_gradient_from("rolled"), Error);
}

}  // namespace
}  // namespace diml::learn::test
