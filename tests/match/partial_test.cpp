// Transport of a share of the mass.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/refusal.h"
#include "diml/error.h"
#include "diml/match.h"
#include "diml/matcher.h"
#include "random_grid.h"

namespace diml {
namespace {

constexpr double kShares[] = {0.05, 0.3, 0.6, 0.9, 0.999};

std::vector<Backend> solvers() {
  std::vector<Backend> list;
  for (const Backend backend : {Backend::reference, Backend::cpu, Backend::exact}) {
    if (is_available(backend)) list.push_back(backend);
  }
  return list;
}

MatchParams params_of(Backend backend, double mass) {
  MatchParams params;
  params.transport = {
      .backend = backend, .tolerance = 1e-6, .max_iterations = 100000, .mass = mass};
  return params;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

class Partial : public testing::Test {
 protected:
  const GridSet sources_ = test::random_set(4, 15, 12, 1, CellType::float32);
  const GridSet targets_ = test::random_set(4, 8, 12, 2, CellType::float32);
};

TEST_F(Partial, TheShareIsTransportedAndNoCellGivesOrTakesMoreThanItsWeight) {
  for (const Backend backend : solvers()) {
    for (const double mass : kShares) {
      for (std::size_t k = 0; k < sources_.size(); ++k) {
        const StructuralMatch found = match(sources_[k], targets_[k], params_of(backend, mass));
        const TransportPlan& plan = found.plan;
        EXPECT_TRUE(plan.converged) << name_of(backend) << " " << mass;
        EXPECT_NEAR(sum_of(plan.mass), mass, 2e-6) << name_of(backend);
        std::vector<double> taken(plan.cols);
        for (std::size_t i = 0; i < plan.rows; ++i) {
          double given = 0.0;
          for (std::size_t j = 0; j < plan.cols; ++j) {
            EXPECT_GE(plan(i, j), 0.0);
            given += plan(i, j);
            taken[j] += plan(i, j);
          }
          EXPECT_LE(given, found.marginals.source[i] + 2e-6) << name_of(backend);
        }
        for (std::size_t j = 0; j < plan.cols; ++j) {
          EXPECT_LE(taken[j], found.marginals.target[j] + 2e-6) << name_of(backend);
        }
      }
    }
  }
}

TEST_F(Partial, ContributionsSumToTheScore) {
  for (const Backend backend : solvers()) {
    const StructuralMatch found = match(sources_[0], targets_[0], params_of(backend, 0.6));
    double sum = 0.0;
    for (std::size_t i = 0; i < found.plan.rows; ++i) {
      for (std::size_t j = 0; j < found.plan.cols; ++j) sum += found.contribution(i, j);
    }
    EXPECT_NEAR(sum, found.score, 1e-6) << name_of(backend);
    EXPECT_LE(found.score, 0.6 + 1e-6);
  }
}

TEST_F(Partial, AllOfTheMassIsTheTransportOfBefore) {
  for (const Backend backend : solvers()) {
    MatchParams whole;
    whole.transport.backend = backend;
    MatchParams one = whole;
    one.transport.mass = 1.0;
    EXPECT_EQ(match(sources_[1], targets_[1], whole).plan.mass,
              match(sources_[1], targets_[1], one).plan.mass);
    // And a share close to all of it is close to it.
    MatchParams nearly = params_of(backend, 1.0 - 1e-4);
    MatchParams all = params_of(backend, 1.0);
    EXPECT_NEAR(match(sources_[1], targets_[1], nearly).score,
                match(sources_[1], targets_[1], all).score, 2e-3)
        << name_of(backend);
  }
}

// Two cells that match and two that do not: half of the mass takes the good pair alone.
TEST(PartialTransport, TakesTheCheapestPartFirst) {
  const std::vector<double> cost = {0.1, 0.9, 0.8, 0.9};
  const Marginals marginals{{0.5, 0.5}, {0.5, 0.5}, {}};
  for (const Backend backend : solvers()) {
    const TransportPlan half =
        solve({cost.data(), 2, 2}, marginals,
              {.backend = backend, .lambda = 0.01, .max_iterations = 100000, .mass = 0.5});
    EXPECT_NEAR(half(0, 0), 0.5, 1e-3) << name_of(backend);
    EXPECT_NEAR(half(1, 1), 0.0, 1e-3) << name_of(backend);
  }
}

// Without entropy a larger share costs more per unit: cost is convex in the share.
TEST_F(Partial, TheExactCostIsConvexInTheShare) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  double before = 0.0;
  double slope = -1.0;
  for (const double mass : {0.2, 0.4, 0.6, 0.8, 1.0}) {
    const StructuralMatch found = match(sources_[2], targets_[2], params_of(Backend::exact, mass));
    const double cost = mass - found.score;
    EXPECT_GE((cost - before) / 0.2, slope - 1e-9);
    slope = (cost - before) / 0.2;
    before = cost;
  }
}

TEST_F(Partial, TheBracketHoldsTheExactOptimum) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  for (const double mass : kShares) {
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      MatchParams certified = params_of(Backend::exact, mass);
      certified.certificate = Certificate::duality_gap;
      const StructuralMatch exact = match(sources_[k], targets_[k], certified);
      const double least = mass - exact.score;
      ASSERT_TRUE(exact.bracket);
      EXPECT_LT(exact.bracket->gap(), 1e-8) << mass;
      for (const Backend backend : solvers()) {
        certified.transport.backend = backend;
        const Bracket bracket = *match(sources_[k], targets_[k], certified).bracket;
        EXPECT_LE(bracket.lower, least + 1e-9) << name_of(backend) << " " << mass;
        EXPECT_GE(bracket.upper, least - 1e-9) << name_of(backend) << " " << mass;
        EXPECT_LT(bracket.gap(), 0.2) << name_of(backend) << " " << mass;
      }
    }
  }
}

// Random costs, and weights of which some are 0.
TEST(PartialTransport, TheBracketHoldsForAnyCosts) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    const std::size_t rows = 1 + random.below(6);
    const std::size_t cols = 1 + random.below(6);
    std::vector<double> cost(rows * cols);
    for (double& value : cost) value = random.uniform(-1.0, 3.0);
    Marginals marginals{std::vector<double>(rows), std::vector<double>(cols), {}};
    for (std::vector<double>* side : {&marginals.source, &marginals.target}) {
      for (double& weight : *side) weight = random.uniform() < 0.2 ? 0.0 : random.uniform();
      side->front() += 0.1;
      const double sum = sum_of(*side);
      for (double& weight : *side) weight /= sum;
    }
    const double mass = random.uniform(0.01, 1.0);
    const MatrixView view{cost.data(), rows, cols};
    const TransportPlan plan = solve(view, marginals, {.backend = Backend::exact, .mass = mass});
    double least = 0.0;
    for (std::size_t k = 0; k < cost.size(); ++k) least += plan.mass[k] * cost[k];
    const Bracket bracket = bracket_optimum(view, marginals, plan, mass);
    EXPECT_NEAR(sum_of(plan.mass), mass, 1e-9);
    EXPECT_LE(bracket.lower, least + 1e-8);
    EXPECT_GE(bracket.upper, least - 1e-8);
    EXPECT_LT(bracket.gap(), 1e-7) << rows << " x " << cols << ", " << mass;
  }
}

TEST_F(Partial, AShareOutOfRangeIsRefused) {
  for (const double mass : {0.0, -1.0, 0.005, 1.01, std::nan("")}) {
    EXPECT_NE(test::message_of([&] {
                (void)match(sources_[0], targets_[0], params_of(Backend::reference, mass));
              }).find("the share that is transported is 0.01 to 1"),
              std::string::npos)
        << mass;
  }
}

}  // namespace
}  // namespace diml
