#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/explain.h"
#include "random_grid.h"

namespace diml {
namespace {

std::vector<Backend> backends() {
  std::vector<Backend> built;
  for (const Backend backend : {Backend::reference, Backend::cpu, Backend::exact}) {
    if (is_available(backend)) built.push_back(backend);
  }
  return built;
}

// 3 x 5 against 2 x 4: a transposition cannot pass.
Explanation unequal(Backend backend, std::uint64_t seed) {
  const EmbeddingGrid source = test::random_grid(15, 8, seed);
  const EmbeddingGrid target = test::random_grid(8, 8, seed + 100);
  MatchParams params;
  params.transport.backend = backend;
  return explain(source, target, params, {3, 5}, {2, 4});
}

TEST(Explanation, ContributionsOfAllPairsSumToTheScoreAndSharesToOne) {
  for (const Backend backend : backends()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Explanation why = unequal(backend, seed);
      ASSERT_EQ(why.pairs.size(), 15u * 8u);
      double sum = 0.0;
      double shares = 0.0;
      for (const PartPair& pair : why.pairs) {
        sum += pair.contribution;
        shares += pair.share;
        EXPECT_DOUBLE_EQ(pair.contribution, pair.amplified * pair.similarity / (15.0 * 8.0));
      }
      EXPECT_NEAR(sum, why.score, 1e-9);
      EXPECT_NEAR(shares, 1.0, 1e-9);
      const std::vector<double> cells = why.source_contributions();
      ASSERT_EQ(cells.size(), 15u);
      EXPECT_NEAR(std::accumulate(cells.begin(), cells.end(), 0.0), why.score, 1e-9);
    }
  }
}

TEST(Explanation, SaysTheSameAsTheMatchItExplains) {
  const EmbeddingGrid source = test::random_grid(15, 8, 1);
  const EmbeddingGrid target = test::random_grid(8, 8, 101);
  const StructuralMatch found =
      match(source, target, {.transport = {.backend = Backend::reference}});
  const Explanation why = unequal(Backend::reference, 1);
  EXPECT_EQ(why.score, found.score);
  EXPECT_EQ(why.similarity, found.similarity);
  EXPECT_EQ(why.plan, found.plan.mass);
  EXPECT_EQ(why.source_marginal, found.marginals.source);
  EXPECT_EQ(why.target_marginal, found.marginals.target);
  EXPECT_EQ(why.iterations, found.plan.iterations);
  EXPECT_EQ(why.converged, found.plan.converged);
  for (const PartPair& pair : why.pairs) {
    EXPECT_EQ(pair.contribution, found.contribution(pair.source, pair.target));
  }
}

TEST(Explanation, PairsComeStrongestFirstAndTheWeakestOfEachSourceCellWeakestFirst) {
  const Explanation why = unequal(Backend::reference, 2);
  EXPECT_TRUE(std::is_sorted(
      why.pairs.begin(), why.pairs.end(),
      [](const PartPair& x, const PartPair& y) { return x.contribution > y.contribution; }));
  const auto weighty = std::count_if(why.source_marginal.begin(), why.source_marginal.end(),
                                     [](double weight) { return weight > 0.0; });
  ASSERT_GT(weighty, 5);
  ASSERT_EQ(why.weakest.size(), static_cast<std::size_t>(weighty));
  std::vector<bool> seen(15);
  for (std::size_t k = 0; k < why.weakest.size(); ++k) {
    const PartPair& pair = why.weakest[k];
    EXPECT_FALSE(seen[pair.source]);
    seen[pair.source] = true;
    const double* row = &why.plan[pair.source * 8];
    EXPECT_EQ(pair.mass, *std::max_element(row, row + 8));
    EXPECT_LE(why.weakest[k > 0 ? k - 1 : 0].contribution, pair.contribution);
  }
}

TEST(Explanation, CosineIsThatOfTheGlobalsAndTotalIsWhatSearchRanksBy) {
  // Globals at 60 degrees; cells that share one direction of two.
  const std::vector<float> cells = {1, 0, 0, 0, 1, 0};
  const std::vector<float> global = {1, 0, 0};
  const std::vector<float> other = {0.5F, std::sqrt(0.75F), 0};
  const EmbeddingGrid source(cells, 3, global);
  const EmbeddingGrid target(cells, 3, other);
  MatchParams params;
  params.marginals = MarginalRule::uniform;
  const Explanation why = explain(source, target, params);
  EXPECT_NEAR(why.cosine, 0.5, 1e-6);
  EXPECT_NEAR(why.mean_similarity, 0.5, 1e-7);
  EXPECT_NEAR(why.score, 1.0, 1e-6);  // each cell to its equal
  EXPECT_NEAR(why.total(), 1.5, 1e-6);
  const Explanation weighted =
      explain(source, target, params, {.global = 2.0F, .structural = 0.5F});
  EXPECT_NEAR(weighted.total(), 2.0 * 0.5 + 0.5 * 1.0, 1e-6);
  EXPECT_NEAR(explanation_from_json(to_json(weighted)).total(), weighted.total(), 1e-6);
  EXPECT_EQ(why.source, (GridShape{1, 2}));
  EXPECT_NEAR(why.pairs[0].amplified, 2.0, 1e-6);
  EXPECT_NEAR(why.pairs[0].share, 0.5, 1e-6);
  EXPECT_EQ(why.pairs[0].source, 0u);
  EXPECT_EQ(why.pairs[1].source, 1u);
}

TEST(Explanation, WhereNothingIsAlikeNothingHasAShare) {
  const std::vector<float> one = {1, 0};
  const std::vector<float> other = {0, 1};
  const Explanation why = explain(EmbeddingGrid(one, 2), EmbeddingGrid(other, 2), {});
  EXPECT_EQ(why.score, 0.0);
  EXPECT_EQ(why.pairs.at(0).share, 0.0);
  EXPECT_TRUE(why.fallbacks.uniform_source);
}

TEST(Explanation, ShapesAreSquareWhereTheyCanBe) {
  EXPECT_EQ(shape_of_cells(1), (GridShape{1, 1}));
  EXPECT_EQ(shape_of_cells(49), (GridShape{7, 7}));
  EXPECT_EQ(shape_of_cells(15), (GridShape{3, 5}));
  EXPECT_EQ(shape_of_cells(8), (GridShape{2, 4}));
  EXPECT_EQ(shape_of_cells(13), (GridShape{1, 13}));
  for (std::size_t count = 1; count <= kMostCells; ++count) {
    EXPECT_EQ(shape_of_cells(count).count(), count);
    EXPECT_LE(shape_of_cells(count).rows, shape_of_cells(count).cols);
  }
}

TEST(Explanation, RefusesAShapeThatIsNotTheGrids) {
  const EmbeddingGrid grid = test::random_grid(6, 4, 1);
  EXPECT_THROW(explain(grid, grid, {}, {2, 3}, {2, 2}), Error);
  EXPECT_THROW(explain(grid, grid, {}, {3, 3}, {2, 3}), Error);
}

}  // namespace
}  // namespace diml
