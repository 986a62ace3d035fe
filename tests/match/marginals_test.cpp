#include "diml/marginals.h"

#include <algorithm>
#include <cmath>
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

// 3 x 5: the middle is cell 7; rows are nearer to each other than the ends of a row.
TEST(Marginals, CentreWeighsCellsByTheirPlaceAlone) {
  const EmbeddingGrid source = test::random_grid(15, 24, 1);
  const auto weights = [&](std::uint64_t seed, GridShape shape) {
    return make_marginals(source, test::random_grid(8, 24, seed), MarginalRule::centre, shape)
        .source;
  };
  const std::vector<double> wide = weights(2, {3, 5});
  EXPECT_EQ(wide, weights(3, {3, 5}));
  EXPECT_EQ(wide, weights(2, {}));  // the shape that 15 cells are taken for
  EXPECT_EQ(std::max_element(wide.begin(), wide.end()) - wide.begin(), 7);
  EXPECT_DOUBLE_EQ(wide[0], wide[14]);
  EXPECT_DOUBLE_EQ(wide[4], wide[10]);
  EXPECT_NEAR(wide[2] / wide[7], std::exp(-0.04 / (2.0 * kCentreSigma * kCentreSigma)), 1e-6);
  EXPECT_NEAR(wide[5] / wide[7], std::exp(-0.16 / (2.0 * kCentreSigma * kCentreSigma)), 1e-6);
  const std::vector<double> high = weights(2, {5, 3});
  EXPECT_DOUBLE_EQ(high[1], wide[5]);  // turned: the place above the middle, the place left of it
}

TEST(Marginals, NamesGoBothWays) {
  EXPECT_EQ(marginal_rule_from("uniform"), MarginalRule::uniform);
  EXPECT_EQ(marginal_rule_from(name_of(MarginalRule::cross_correlation)),
            MarginalRule::cross_correlation);
  EXPECT_THROW(marginal_rule_from("gaussian"), Error);
}

}  // namespace
}  // namespace diml
