#include "diml/candidates.h"

#include <limits>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml {
namespace {

using Places = std::vector<std::size_t>;

TEST(Rank, OrdersTheHeadByTheWeightedSum) {
  const std::vector<std::int64_t> ids = {10, 20, 30, 40};
  const std::vector<float> cosines = {0.9F, 0.8F, 0.7F, 0.6F};
  const std::vector<float> structural = {0.1F, 0.3F, 0.2F, 0.9F};
  EXPECT_EQ(rank(ids, cosines, structural), (Places{3, 1, 0, 2}));  // 1.0 1.1 0.9 1.5
  EXPECT_EQ(rank(ids, cosines, structural, {0.0F, 1.0F}), (Places{3, 1, 2, 0}));
  EXPECT_EQ(rank(ids, cosines, structural, {1.0F, 0.0F}), (Places{0, 1, 2, 3}));
}

TEST(Rank, LeavesTheTailAlone) {
  const std::vector<std::int64_t> ids = {10, 20, 30};
  const std::vector<float> cosines = {0.9F, 0.8F, 0.7F};
  EXPECT_EQ(rank(ids, cosines, std::vector<float>{0.0F, 0.5F}), (Places{1, 0}));
  EXPECT_TRUE(rank(ids, cosines, {}).empty());
}

TEST(Rank, TiesGoToTheLowerId) {
  const std::vector<std::int64_t> ids = {40, 10, 30, 20};
  const std::vector<float> same(4, 0.5F);
  EXPECT_EQ(rank(ids, same, same), (Places{1, 3, 2, 0}));
}

TEST(Rank, RefusesMoreSimilaritiesThanCandidates) {
  const std::vector<float> three(3, 0.5F);
  EXPECT_THROW(rank(std::vector<std::int64_t>{1, 2}, three, three), Error);
}

TEST(Rank, WeightsMustOrderSomething) {
  EXPECT_NO_THROW(check(ScoreWeights{0.0F, 1.0F}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ScoreWeights none : {ScoreWeights{0.0F, 0.0F}, {-1.0F, 2.0F}, {1.0F, nan}}) {
    EXPECT_THROW(check(none), Error);
  }
}

}  // namespace
}  // namespace diml
