#include "diml/match.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "random_grid.h"

namespace diml {
namespace {

// 3 x 5 against 2 x 4 cells: a transposition cannot pass.
constexpr std::size_t kSourceCells = 15;
constexpr std::size_t kTargetCells = 8;
constexpr std::size_t kDim = 24;

MatchParams tight(Backend backend) {
  MatchParams params;
  params.transport = {.backend = backend, .tolerance = 1e-6, .max_iterations = 20000};
  return params;
}

class Match : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) {
      GTEST_SKIP() << "built without the solver " << name_of(GetParam());
    }
  }
  EmbeddingGrid source_ = test::random_grid(kSourceCells, kDim, 1);
  EmbeddingGrid target_ = test::random_grid(kTargetCells, kDim, 2);
};

TEST_P(Match, ContributionsSumToTheScore) {
  const StructuralMatch result = match(source_, target_, tight(GetParam()));
  double sum = 0.0;
  for (std::size_t i = 0; i < kSourceCells; ++i) {
    for (std::size_t j = 0; j < kTargetCells; ++j) sum += result.contribution(i, j);
  }
  EXPECT_NEAR(sum, result.score, 1e-12);
  EXPECT_GT(result.score, -1.0);
  EXPECT_LT(result.score, 1.0);
}

TEST_P(Match, SwappingSourceAndTargetTransposesThePlan) {
  const StructuralMatch there = match(source_, target_, tight(GetParam()));
  const StructuralMatch back = match(target_, source_, tight(GetParam()));
  EXPECT_NEAR(there.score, back.score, 3e-6);
  for (std::size_t i = 0; i < kSourceCells; ++i) {
    for (std::size_t j = 0; j < kTargetCells; ++j) {
      EXPECT_NEAR(there.plan(i, j), back.plan(j, i), 3e-6);
    }
  }
}

TEST_P(Match, PermutingCellsPermutesThePlan) {
  const std::vector<float> cells = test::random_cells(kSourceCells, kDim, 1);
  std::vector<std::size_t> order(kSourceCells);
  for (std::size_t i = 0; i < kSourceCells; ++i) order[i] = (i * 7 + 3) % kSourceCells;
  std::vector<float> permuted(cells.size());
  for (std::size_t i = 0; i < kSourceCells; ++i) {
    std::copy_n(&cells[order[i] * kDim], kDim, &permuted[i * kDim]);
  }
  const StructuralMatch plain = match(source_, target_, tight(GetParam()));
  const StructuralMatch mixed = match(EmbeddingGrid(permuted, kDim), target_, tight(GetParam()));
  EXPECT_NEAR(plain.score, mixed.score, 3e-6);
  for (std::size_t i = 0; i < kSourceCells; ++i) {
    for (std::size_t j = 0; j < kTargetCells; ++j) {
      EXPECT_NEAR(mixed.plan(i, j), plain.plan(order[i], j), 3e-6);
    }
  }
}

TEST_P(Match, DistanceIsTheTransportedEuclideanDistance) {
  const StructuralMatch result = match(source_, target_, tight(GetParam()));
  double distance = 0.0;
  for (std::size_t i = 0; i < kSourceCells; ++i) {
    for (std::size_t j = 0; j < kTargetCells; ++j) {
      double square = 0.0;
      for (std::size_t d = 0; d < kDim; ++d) {
        square += std::pow(source_.view().at(i, d) - target_.view().at(j, d), 2);
      }
      distance += result.plan(i, j) * std::sqrt(square);
    }
  }
  EXPECT_NEAR(result.distance, distance, 1e-5);
}

TEST_P(Match, AnImageMatchesItselfBest) {
  const double self = match(source_, source_, tight(GetParam())).score;
  const double other = match(source_, target_, tight(GetParam())).score;
  EXPECT_GT(self, other);
  EXPECT_GT(self, 0.75);
}

TEST_P(Match, IdenticalCellsAreAtDistanceZeroAndZeroCellsAtOne) {
  const EmbeddingGrid same(std::vector<float>(9 * kDim, 0.3f), kDim);
  EXPECT_EQ(match(same, same, tight(GetParam())).distance, 0.0);
  const EmbeddingGrid zero(std::vector<float>(9 * kDim), kDim);
  EXPECT_NEAR(match(same, zero, tight(GetParam())).distance, 1.0, 1e-6);
  EXPECT_EQ(match(zero, zero, tight(GetParam())).distance, 0.0);
}

TEST_P(Match, ACertificateBracketsTheScoreOfTheBestPlan) {
  MatchParams params = tight(GetParam());
  params.certificate = Certificate::duality_gap;
  const StructuralMatch result = match(source_, target_, params);
  ASSERT_TRUE(result.bracket.has_value());
  EXPECT_LE(result.score, 1.0 - result.bracket->lower + 1e-6);
  EXPECT_GE(result.bracket->gap(), -1e-6);
  EXPECT_FALSE(match(source_, target_, tight(GetParam())).bracket.has_value());
}

// The bounds hold to the last bits of double, not to those of the solver: lambda is small, so that
// they lie close to the optimum.
TEST_P(Match, ACertificateHoldsTheExactOptimumOfEveryPair) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  MatchParams params = tight(GetParam());
  params.certificate = Certificate::duality_gap;
  params.transport.lambda = 0.03;
  MatchParams optimum;
  optimum.transport.backend = Backend::exact;
  const std::size_t sides[][2] = {{15, 8}, {16, 16}, {1, 5}, {49, 16}};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto [rows, cols] = sides[seed % 4];
    const EmbeddingGrid source = test::random_grid(rows, kDim, 2 * seed);
    // Nearly the same cells: the optimum is nearly reached, and both bounds are close to it.
    const EmbeddingGrid target =
        seed % 3 == 0 ? source : test::random_grid(cols, kDim, 2 * seed + 1);
    const Bracket bracket = match(source, target, params).bracket.value();
    const StructuralMatch best = match(source, target, optimum);
    double cost = 0.0;
    for (std::size_t k = 0; k < best.plan.mass.size(); ++k) {
      cost += best.plan.mass[k] * (1.0 - best.similarity[k]);
    }
    // The exact solver rounds masses below 1e-12, and its plan may cost 1e-9 more than the optimum.
    EXPECT_LE(bracket.lower, cost + 1e-11) << seed;
    EXPECT_GE(bracket.upper, cost - 1e-9) << seed;
  }
}

TEST_P(Match, OneCellGridsGiveTheirCosine) {
  const EmbeddingGrid a(std::vector<float>{1, 0}, 2);
  const EmbeddingGrid b(std::vector<float>{1, 1}, 2);
  const StructuralMatch result = match(a, b, tight(GetParam()));
  EXPECT_NEAR(result.score, std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(result.plan(0, 0), 1.0, 1e-6);
}

TEST_P(Match, DegenerateGridsFallBackAndSaySo) {
  const EmbeddingGrid zero(std::vector<float>(kTargetCells * kDim), kDim);
  const StructuralMatch result = match(source_, zero, tight(GetParam()));
  EXPECT_TRUE(result.marginals.fallbacks.uniform_source);
  EXPECT_TRUE(result.marginals.fallbacks.uniform_target);
  EXPECT_NEAR(result.score, 0.0, 1e-9);
  for (const double weight : result.marginals.target) EXPECT_NEAR(weight, 1.0 / kTargetCells, 1e-6);
}

TEST_P(Match, IdenticalCellsScoreOne) {
  std::vector<float> cells(16 * kDim);
  const std::vector<float> one = test::random_cells(1, kDim, 9);
  for (std::size_t i = 0; i < 16; ++i) std::copy(one.begin(), one.end(), &cells[i * kDim]);
  const EmbeddingGrid grid(cells, kDim);
  EXPECT_NEAR(match(grid, grid, tight(GetParam())).score, 1.0, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Backends, Match,
                         testing::Values(Backend::reference, Backend::cpu, Backend::exact),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(MatchArguments, TheDefaultIsTheFastestBackendOfOnePairAndThePlanNamesIt) {
  const EmbeddingGrid source = test::random_grid(15, 8, 1);
  const EmbeddingGrid target = test::random_grid(8, 8, 2);
  const StructuralMatch usual = match(source, target);
  EXPECT_EQ(usual.plan.backend, fastest_of_one_pair());
  for (const Backend backend : {Backend::reference, Backend::cpu, Backend::exact}) {
    if (!is_available(backend)) continue;
    const StructuralMatch found = match(source, target, {.transport = {.backend = backend}});
    EXPECT_EQ(found.plan.backend, backend);
    if (backend != fastest_of_one_pair()) continue;
    EXPECT_EQ(found.plan.mass, usual.plan.mass);
  }
}

// A card takes batches: one pair is refused, not matched elsewhere without a word.
TEST(MatchArguments, OnePairIsNotForACard) {
  EXPECT_THROW(match(test::random_grid(4, 8, 1), test::random_grid(4, 8, 2),
                     {.transport = {.backend = Backend::cuda}}),
               Error);
}

TEST(MatchArguments, GridsOfDifferentDimensionAreRefused) {
  EXPECT_THROW(match(test::random_grid(4, 8, 1), test::random_grid(4, 9, 1)), Error);
}

TEST(MatchArguments, UniformMarginalsWeighAllCellsTheSame) {
  const StructuralMatch result = match(test::random_grid(15, 8, 1), test::random_grid(8, 8, 2),
                                       {.marginals = MarginalRule::uniform});
  for (const double weight : result.marginals.source) EXPECT_NEAR(weight, 1.0 / 15, 1e-8);
  EXPECT_FALSE(result.marginals.fallbacks.any());
}

}  // namespace
}  // namespace diml
