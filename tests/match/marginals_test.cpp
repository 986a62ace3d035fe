#include "diml/marginals.h"

#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "random_grid.h"

namespace diml {
namespace {

double sum(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

TEST(Marginals, ACellWeighsWhatItSharesWithTheOtherImage) {
  // Source cells e0, e1; the target's global is e1: all source mass goes to the second cell.
  const EmbeddingGrid source(std::vector<float>{1, 0, 0, 0, 1, 0}, 3, std::vector<float>{1, 0, 0});
  const EmbeddingGrid target(std::vector<float>{1, 1, 0, 1, 0, 0, 0, 0, 1}, 3,
                             std::vector<float>{0, 1, 0});
  const Marginals marginals = make_marginals(source, target);
  EXPECT_EQ(marginals.source, (std::vector<double>{0, 1}));
  // The source's global is e0: target cells (1,1)/sqrt 2 and e0 share 0.707 and 1 with it, e2
  // nothing.
  EXPECT_NEAR(marginals.target[0], 0.70710678 / 1.70710678, 1e-6);
  EXPECT_NEAR(marginals.target[1], 1.0 / 1.70710678, 1e-6);
  EXPECT_EQ(marginals.target[2], 0.0);
  EXPECT_FALSE(marginals.fallbacks.any());
}

TEST(Marginals, SumToOne) {
  for (const MarginalRule rule : kMarginalRules) {
    const Marginals marginals =
        make_marginals(test::random_grid(15, 24, 1), test::random_grid(8, 24, 2), rule);
    EXPECT_EQ(marginals.source.size(), 15u);
    EXPECT_EQ(marginals.target.size(), 8u);
    EXPECT_NEAR(sum(marginals.source), 1.0, 1e-12);
    EXPECT_NEAR(sum(marginals.target), 1.0, 1e-12);
  }
}

TEST(Marginals, ASideWithoutPositiveCorrelationFallsBackToUniformAndSaysSo) {
  const EmbeddingGrid source(std::vector<float>{1, 0, 1, 0.5f}, 2, std::vector<float>{1, 0});
  const EmbeddingGrid opposite(std::vector<float>{1, 0, 0, 1, 1, 1}, 2, std::vector<float>{-1, -1});
  const Marginals marginals = make_marginals(source, opposite);
  EXPECT_TRUE(marginals.fallbacks.uniform_source);
  EXPECT_FALSE(marginals.fallbacks.uniform_target);
  EXPECT_EQ(marginals.source, (std::vector<double>{0.5, 0.5}));
  EXPECT_NEAR(sum(marginals.target), 1.0, 1e-12);
}

TEST(Marginals, NamesGoBothWays) {
  EXPECT_EQ(marginal_rule_from("uniform"), MarginalRule::uniform);
  EXPECT_EQ(marginal_rule_from(name_of(MarginalRule::cross_correlation)),
            MarginalRule::cross_correlation);
  EXPECT_THROW(marginal_rule_from("gaussian"), Error);
}

}  // namespace
}  // namespace diml
