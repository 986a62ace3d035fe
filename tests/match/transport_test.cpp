#include "diml/transport.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml {
namespace {

struct Problem {
  std::size_t rows;
  std::size_t cols;
  std::vector<double> cost;
  Marginals marginals;

  MatrixView view() const { return {cost.data(), rows, cols}; }
};

// Unequal sizes, so that a transposition cannot pass; some cells without mass.
Problem random_problem(std::size_t rows, std::size_t cols, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.5);
  Problem problem{rows, cols, std::vector<double>(rows * cols), {}};
  for (double& value : problem.cost) value = uniform(random);
  const auto weights = [&](std::size_t count) {
    std::vector<double> side(count);
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      side[i] = i % 4 == 3 ? 0.0 : uniform(random) + 0.01;
      total += side[i];
    }
    for (double& weight : side) weight /= total;
    return side;
  };
  problem.marginals.source = weights(rows);
  problem.marginals.target = weights(cols);
  return problem;
}

double cost_of(const Problem& problem, const TransportPlan& plan) {
  double cost = 0.0;
  for (std::size_t k = 0; k < plan.mass.size(); ++k) cost += plan.mass[k] * problem.cost[k];
  return cost;
}

std::vector<Backend> backends() {
  std::vector<Backend> available;
  for (const Backend backend : {Backend::reference, Backend::cpu, Backend::exact}) {
    if (is_available(backend)) available.push_back(backend);
  }
  return available;
}

TEST(Transport, RowsSumToTheSourceMarginalsAndColumnsToTheTarget) {
  for (const Backend backend : backends()) {
    for (const auto& [rows, cols] : {std::pair{15, 8}, {8, 15}, {1, 7}, {7, 1}, {50, 40}}) {
      const Problem problem = random_problem(rows, cols, 7);
      const TransportPlan plan =
          solve(problem.view(), problem.marginals,
                {.backend = backend, .tolerance = 1e-6, .max_iterations = 20000});
      ASSERT_TRUE(plan.converged) << name_of(backend);
      double error = 0.0;
      for (std::size_t i = 0; i < plan.rows; ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < plan.cols; ++j) sum += plan(i, j);
        error += std::abs(sum - problem.marginals.source[i]);
      }
      EXPECT_LT(error, 2e-6) << name_of(backend);
      for (std::size_t j = 0; j < plan.cols; ++j) {
        double sum = 0.0;
        for (std::size_t i = 0; i < plan.rows; ++i) {
          EXPECT_GE(plan(i, j), 0.0);
          sum += plan(i, j);
        }
        EXPECT_NEAR(sum, problem.marginals.target[j], 1e-6) << name_of(backend);
      }
    }
  }
}

TEST(Transport, TheReportedMarginalErrorIsThePlans) {
  for (const Backend backend : backends()) {
    const Problem problem = random_problem(15, 8, 3);
    for (const int iterations : {1, 2, 4, 8}) {
      const TransportPlan plan =
          solve(problem.view(), problem.marginals,
                {.backend = backend, .tolerance = 1e-12, .max_iterations = iterations});
      double error = 0.0;
      for (std::size_t i = 0; i < plan.rows; ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < plan.cols; ++j) sum += plan(i, j);
        error += std::abs(sum - problem.marginals.source[i]);
      }
      EXPECT_NEAR(plan.marginal_error, error, 2e-6) << name_of(backend);
      if (backend != Backend::exact) {
        EXPECT_EQ(plan.iterations, iterations);
      }
    }
  }
}

TEST(Transport, ExactIsNotAboveEntropic) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Problem problem = random_problem(12, 9, seed);
    const double exact =
        cost_of(problem, solve(problem.view(), problem.marginals, {.backend = Backend::exact}));
    for (const double lambda : {0.01, 0.05, 0.5}) {
      const TransportPlan plan =
          solve(problem.view(), problem.marginals,
                {.lambda = lambda, .tolerance = 1e-9, .max_iterations = 100000});
      EXPECT_LE(exact, cost_of(problem, plan) + 1e-8);
    }
  }
}

TEST(Transport, ExactOnAnAssignmentFindsThePermutation) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  const std::size_t n = 6;
  Problem problem{n, n, std::vector<double>(n * n, 1.0), {}};
  problem.marginals.source.assign(n, 1.0 / n);
  problem.marginals.target.assign(n, 1.0 / n);
  for (std::size_t i = 0; i < n; ++i) problem.cost[i * n + (i * 5 + 2) % n] = 0.0;
  const TransportPlan plan = solve(problem.view(), problem.marginals, {.backend = Backend::exact});
  EXPECT_NEAR(cost_of(problem, plan), 0.0, 1e-12);
  for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(plan(i, (i * 5 + 2) % n), 1.0 / n, 1e-12);
}

TEST(Bracket, HoldsTheOptimumFromBothSides) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Problem problem = random_problem(15, 8, seed);
    const double optimum =
        cost_of(problem, solve(problem.view(), problem.marginals, {.backend = Backend::exact}));
    for (const Backend backend : backends()) {
      for (const int iterations : {1, 10, 10000}) {
        const TransportPlan plan =
            solve(problem.view(), problem.marginals,
                  {.backend = backend, .tolerance = 1e-7, .max_iterations = iterations});
        const Bracket bracket = bracket_optimum(problem.view(), problem.marginals, plan);
        EXPECT_LE(bracket.lower, optimum + 1e-6) << name_of(backend);
        EXPECT_GE(bracket.upper, optimum - 1e-6) << name_of(backend);
        EXPECT_TRUE(std::isfinite(bracket.gap()));
      }
    }
  }
}

TEST(Bracket, ClosesOnTheExactPlanAndTightensWithLambda) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  const Problem problem = random_problem(15, 8, 5);
  const TransportPlan exact = solve(problem.view(), problem.marginals, {.backend = Backend::exact});
  EXPECT_NEAR(bracket_optimum(problem.view(), problem.marginals, exact).gap(), 0.0, 1e-8);
  const auto gap = [&](double lambda) {
    const TransportPlan plan =
        solve(problem.view(), problem.marginals,
              {.lambda = lambda, .tolerance = 1e-8, .max_iterations = 200000});
    return bracket_optimum(problem.view(), problem.marginals, plan).gap();
  };
  EXPECT_LT(gap(0.01), gap(0.1));
  EXPECT_LT(gap(0.1), gap(1.0));
}

TEST(Transport, NothingFiniteGivesNanOrInfinity) {
  for (const Backend backend : backends()) {
    for (const double lambda : {1e-3, 1e-2, 0.025, 0.05, 1.0, 10.0}) {
      for (const double spread : {0.0, 1e-6, 1.0, 2.0}) {
        Problem problem = random_problem(9, 6, 11);
        for (double& value : problem.cost) value *= spread / 1.5;
        const TransportPlan plan =
            solve(problem.view(), problem.marginals,
                  {.backend = backend, .lambda = lambda, .max_iterations = 300});
        double total = 0.0;
        for (const double mass : plan.mass) {
          ASSERT_TRUE(std::isfinite(mass)) << name_of(backend) << " lambda " << lambda;
          total += mass;
        }
        EXPECT_NEAR(total, 1.0, 1e-5) << name_of(backend) << " lambda " << lambda;
        EXPECT_TRUE(std::isfinite(plan.marginal_error));
      }
    }
  }
}

TEST(Transport, ASmallLambdaOnTheCpuIsSolvedInDoubleAndSaysSo) {
  if (!is_available(Backend::cpu)) GTEST_SKIP() << "built without Highway";
  const Problem problem = random_problem(15, 8, 2);
  TransportParams params{
      .backend = Backend::reference, .lambda = 0.005, .tolerance = 1e-6, .max_iterations = 20000};
  const TransportPlan expected = solve(problem.view(), problem.marginals, params);
  params.backend = Backend::cpu;
  const TransportPlan plan = solve(problem.view(), problem.marginals, params);
  ASSERT_TRUE(expected.converged);
  EXPECT_TRUE(plan.converged);
  EXPECT_LT(plan.iterations, expected.iterations);
  EXPECT_TRUE(plan.log_domain);
  for (std::size_t k = 0; k < plan.mass.size(); ++k) {
    EXPECT_NEAR(plan.mass[k], expected.mass[k], 1e-5);
  }
  const double shift = plan.target_potential[0] - expected.target_potential[0];  // free
  for (std::size_t j = 0; j < plan.cols; ++j) {
    if (problem.marginals.target[j] == 0.0) continue;  // -infinity for both
    EXPECT_NEAR(plan.target_potential[j] - expected.target_potential[j], shift, 1e-5);
  }
  EXPECT_FALSE(solve(problem.view(), problem.marginals, {.backend = Backend::cpu}).log_domain);
}

TEST(Transport, TheSmallestLambdaOnTheCpuGoesThroughLogarithms) {
  if (!is_available(Backend::cpu)) GTEST_SKIP() << "built without Highway";
  const Problem problem = random_problem(15, 8, 2);
  const TransportParams cpu{.backend = Backend::cpu, .lambda = 0.001, .max_iterations = 500};
  const TransportParams reference{
      .backend = Backend::reference, .lambda = 0.001, .max_iterations = 500};
  const TransportPlan plan = solve(problem.view(), problem.marginals, cpu);
  EXPECT_TRUE(plan.log_domain);
  EXPECT_EQ(plan.mass, solve(problem.view(), problem.marginals, reference).mass);
}

TEST(Transport, RefusesParametersOutOfRange) {
  const Problem problem = random_problem(3, 2, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(solve(problem.view(), problem.marginals, {.lambda = 0.0}), Error);
  EXPECT_THROW(solve(problem.view(), problem.marginals, {.lambda = 0.0009}), Error);
  EXPECT_THROW(solve(problem.view(), problem.marginals, {.lambda = nan}), Error);
  EXPECT_THROW(solve(problem.view(), problem.marginals, {.tolerance = 0.0}), Error);
  EXPECT_THROW(solve(problem.view(), problem.marginals, {.max_iterations = 0}), Error);
  Marginals swapped{problem.marginals.target, problem.marginals.source, {}};
  EXPECT_THROW(solve(problem.view(), swapped), Error);
}

TEST(Transport, RefusesMarginalsThatAreNone) {
  Problem problem = random_problem(3, 2, 1);
  for (const std::vector<double>& bad : {std::vector<double>{0.5, 0.5, 0.5},
                                         {-0.5, 1.0, 0.5},
                                         {std::nan(""), 0.5, 0.5},
                                         {0.0, 0.0, 0.0}}) {
    const Marginals marginals{bad, problem.marginals.target, {}};
    for (const Backend backend : backends()) {
      EXPECT_THROW(solve(problem.view(), marginals, {.backend = backend}), Error);
    }
  }
  problem.cost[2] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(solve(problem.view(), problem.marginals), Error);
}

TEST(Transport, ExactTakesCostsOfAnySize) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  Problem problem = random_problem(6, 5, 4);
  const double cost =
      cost_of(problem, solve(problem.view(), problem.marginals, {.backend = Backend::exact}));
  for (double& value : problem.cost) value *= 1e12;
  const TransportPlan large = solve(problem.view(), problem.marginals, {.backend = Backend::exact});
  EXPECT_NEAR(cost_of(problem, large) / 1e12, cost, 1e-8);
}

class EntropicBackend : public testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(Of, EntropicBackend, testing::Values(Backend::reference, Backend::cpu),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST_P(EntropicBackend, CountsTheLargestNumberOfIterationsRight) {
  if (!is_available(GetParam())) GTEST_SKIP() << "built without Highway";
  const Problem problem = random_problem(5, 4, 2);
  const TransportPlan plan = solve(problem.view(), problem.marginals,
                                   {.backend = GetParam(), .max_iterations = kMostIterations});
  EXPECT_GT(plan.iterations, 1);
  EXPECT_LT(plan.iterations, 1000);
  EXPECT_THROW(solve(problem.view(), problem.marginals,
                     {.backend = GetParam(), .max_iterations = kMostIterations + 1}),
               Error);
}

TEST(Bracket, IsSoundForAnyLambda) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Problem problem = random_problem(8, 5, seed);
    const double optimum =
        cost_of(problem, solve(problem.view(), problem.marginals, {.backend = Backend::exact}));
    for (const Backend backend : backends()) {
      for (const double lambda : {1e-3, 0.05, 10.0, 1e3, 1e7, 1e12, 1e300}) {
        const TransportPlan plan =
            solve(problem.view(), problem.marginals,
                  {.backend = backend, .lambda = lambda, .max_iterations = 200});
        const Bracket bracket = bracket_optimum(problem.view(), problem.marginals, plan);
        EXPECT_LE(bracket.lower, optimum + 1e-8) << name_of(backend) << " lambda " << lambda;
        EXPECT_GE(bracket.upper, optimum - 1e-8) << name_of(backend) << " lambda " << lambda;
      }
    }
  }
}

}  // namespace
}  // namespace diml
