#include "diml/metrics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml {
namespace {

using Labels = std::vector<std::int64_t>;

RetrievalMetrics of_one(std::int64_t label, const Labels& ranked, std::size_t relevant) {
  MetricsAccumulator accumulator;
  accumulator.add(label, ranked, relevant);
  return accumulator.overall();
}

// Worked by hand: class 7, R = 3, ranked 7 1 7 7 2: hits at ranks 1, 3, 4.
TEST(Metrics, FollowTheirDefinitions) {
  const RetrievalMetrics metrics = of_one(7, {7, 1, 7, 7, 2}, 3);
  EXPECT_DOUBLE_EQ(metrics.p_at_1, 1.0);
  EXPECT_DOUBLE_EQ(metrics.r_precision, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(metrics.map_at_r, (1.0 + 2.0 / 3.0) / 3.0);
}

TEST(Metrics, ThePaperCountsTheQueryInR) {
  const RetrievalMetrics metrics = of_one(7, {7, 1, 7, 7, 2}, 3);
  EXPECT_DOUBLE_EQ(metrics.r_precision_paper, 3.0 / 4.0);
  EXPECT_DOUBLE_EQ(metrics.map_at_r_paper, (1.0 + 2.0 / 3.0 + 3.0 / 4.0) / 4.0);
}

TEST(Metrics, APerfectRankingHasOneEverywhereButInThePapersCounting) {
  const RetrievalMetrics metrics = of_one(1, {1, 1, 2, 3}, 2);
  EXPECT_DOUBLE_EQ(metrics.p_at_1, 1.0);
  EXPECT_DOUBLE_EQ(metrics.r_precision, 1.0);
  EXPECT_DOUBLE_EQ(metrics.map_at_r, 1.0);
  EXPECT_DOUBLE_EQ(metrics.r_precision_paper, 2.0 / 3.0);
}

TEST(Metrics, RecallAsksForAnyHitAmongTheFirstK) {
  const RetrievalMetrics metrics = of_one(5, {1, 2, 3, 5, 4, 5}, 2);
  const std::vector<double> expected = {0, 0, 1, 1, 1, 1};  // at 1, 2, 4, 8, 10, 100
  EXPECT_EQ(metrics.recall_at, expected);
  EXPECT_EQ(of_one(5, {1, 2, 3}, 2).recall_at, std::vector<double>(6, 0.0));
}

TEST(Metrics, QueriesAloneInTheirClassAreLeftOutAndCounted) {
  MetricsAccumulator accumulator;
  accumulator.add(1, Labels{2, 2}, 0);
  accumulator.add(2, Labels{2, 1}, 1);
  EXPECT_EQ(accumulator.left_out(), 1u);
  EXPECT_EQ(accumulator.overall().queries, 1u);
  EXPECT_DOUBLE_EQ(accumulator.overall().p_at_1, 1.0);
  EXPECT_EQ(accumulator.per_class().count(1), 0u);
}

TEST(Metrics, OverallIsTheMeanOverQueriesNotOverClasses) {
  MetricsAccumulator accumulator;
  accumulator.add(1, Labels{1, 1, 2}, 2);
  accumulator.add(1, Labels{1, 1, 2}, 2);
  accumulator.add(1, Labels{1, 1, 2}, 2);
  accumulator.add(2, Labels{1, 2, 1}, 1);
  EXPECT_DOUBLE_EQ(accumulator.overall().p_at_1, 0.75);
  const auto classes = accumulator.per_class();
  EXPECT_DOUBLE_EQ(classes.at(1).p_at_1, 1.0);
  EXPECT_DOUBLE_EQ(classes.at(2).p_at_1, 0.0);
  EXPECT_EQ(classes.at(1).queries, 3u);
}

TEST(Metrics, AShortRankingCountsMissingPlacesAsMisses) {
  const RetrievalMetrics metrics = of_one(1, {1}, 4);
  EXPECT_DOUBLE_EQ(metrics.r_precision, 0.25);
  EXPECT_DOUBLE_EQ(metrics.map_at_r, 0.25);
  EXPECT_DOUBLE_EQ(of_one(1, {}, 4).p_at_1, 0.0);
}

TEST(Nmi, IsOneForTheSamePartitionUnderAnyNames) {
  EXPECT_NEAR(normalised_mutual_information(Labels{0, 0, 1, 1, 2}, Labels{9, 9, 4, 4, 7}), 1.0,
              1e-12);
  EXPECT_EQ(normalised_mutual_information(Labels{3, 3}, Labels{1, 1}), 1.0);
}

TEST(Nmi, IsZeroForIndependentPartitions) {
  EXPECT_NEAR(normalised_mutual_information(Labels{0, 0, 1, 1}, Labels{0, 1, 0, 1}), 0.0, 1e-12);
  EXPECT_NEAR(normalised_mutual_information(Labels{0, 0, 1, 1}, Labels{0, 0, 0, 0}), 0.0, 1e-12);
}

// Worked by hand: x = {a a b b}, y = {a a a b}. I = 0.5 ln(4/3) + 0.25 ln(2/3) + 0.25 ln 2, H(x) =
// ln 2, H(y) = 0.75 ln(4/3) + 0.25 ln 4.
TEST(Nmi, FollowsItsDefinition) {
  const double information =
      0.5 * std::log(4.0 / 3.0) + 0.25 * std::log(2.0 / 3.0) + 0.25 * std::log(2.0);
  const double entropies = std::log(2.0) + 0.75 * std::log(4.0 / 3.0) + 0.25 * std::log(4.0);
  EXPECT_NEAR(normalised_mutual_information(Labels{0, 0, 1, 1}, Labels{0, 0, 0, 1}),
              2.0 * information / entropies, 1e-12);
}

TEST(Nmi, RefusesLabellingsOfDifferentLength) {
  EXPECT_THROW(normalised_mutual_information(Labels{0}, Labels{0, 1}), Error);
  EXPECT_THROW(normalised_mutual_information(Labels{}, Labels{}), Error);
}

}  // namespace
}  // namespace diml
