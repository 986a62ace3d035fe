#include "engine/rerank_gain.h"

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/generated.h"

namespace diml {
namespace {

Evaluation evaluated(std::vector<std::size_t> rerank, bool per_query = true) {
  const GeneratedGrids generated =
      generate_grids({.size = 150, .classes = 15, .grid = 3, .dim = 16, .seed = 5});
  return evaluate(generated.grids.view(), generated.labels,
                  {.rerank = std::move(rerank), .match = {}, .per_query = per_query});
}

TEST(QueryResults, TheirMeansAreTheMetrics) {
  const Evaluation evaluation = evaluated({0, 20});
  for (const RerankResult& result : evaluation.results) {
    ASSERT_EQ(result.queries.size(), evaluation.queries);
    double p_at_1 = 0.0, r_precision = 0.0, map_at_r = 0.0;
    for (std::size_t q = 0; q < result.queries.size(); ++q) {
      const QueryResult& query = result.queries[q];
      EXPECT_TRUE(q == 0 || result.queries[q - 1].image < query.image);
      EXPECT_EQ(query.p_at_1 == 1.0, query.first_right == 1);
      EXPECT_NE(query.nearest, query.image);
      p_at_1 += query.p_at_1;
      r_precision += query.r_precision;
      map_at_r += query.average_precision;
    }
    const auto count = static_cast<double>(evaluation.queries);
    EXPECT_NEAR(p_at_1 / count, result.metrics.p_at_1, 1e-12);
    EXPECT_NEAR(r_precision / count, result.metrics.r_precision, 1e-12);
    EXPECT_NEAR(map_at_r / count, result.metrics.map_at_r, 1e-12);
  }
  EXPECT_TRUE(evaluated({0, 20}, false).results[0].queries.empty()) << "only where asked for";
}

TEST(RerankGain, CountsWhatIsFixedAndBroken) {
  const Evaluation evaluation = evaluated({20, 0, 5});
  const DepthComparison comparison = compare_depths(evaluation, {});
  EXPECT_EQ(comparison.plain, 1u);
  ASSERT_EQ(comparison.gains.size(), 2u);
  for (const RerankGain& gain : comparison.gains) {
    EXPECT_EQ(gain.fixed + gain.broken + gain.same, evaluation.queries);
    const double difference = static_cast<double>(gain.fixed) - static_cast<double>(gain.broken);
    EXPECT_NEAR(gain.p_at_1, difference / static_cast<double>(evaluation.queries), 1e-12);
    EXPECT_LE(gain.intervals->p_at_1.low, gain.p_at_1);
    EXPECT_GE(gain.intervals->p_at_1.high, gain.p_at_1);
  }
  EXPECT_EQ(comparison.gains[0].rerank, 20u);
  EXPECT_EQ(comparison.gains[0].result, 0u);
  EXPECT_GT(comparison.gains[0].fixed, 0u) << "a test of nothing";
  EXPECT_EQ((RerankGain{.rerank = 7, .fixed = 1, .broken = 3}.summary()),
            "re-ranking with 7 fixes 1 query and breaks 3");
}

TEST(RerankGain, ThePairedIntervalIsNarrowerThanTheTwoTogether) {
  const DepthComparison comparison = compare_depths(evaluated({0, 20}), {});
  const auto width = [](const Interval& interval) { return interval.high - interval.low; };
  EXPECT_LT(width(comparison.gains[0].intervals->map_at_r),
            width(comparison.intervals[0].map_at_r) + width(comparison.intervals[1].map_at_r));
  EXPECT_GT(width(comparison.gains[0].intervals->map_at_r), 0.0);
}

TEST(RerankGain, NeedsThePlainCosineAndTheQueries) {
  const DepthComparison comparison = compare_depths(evaluated({20}), {.resamples = 0});
  EXPECT_TRUE(comparison.gains.empty());
  EXPECT_TRUE(comparison.intervals.empty());
  EXPECT_THROW(compare_depths(evaluated({0, 20}, false), {}), Error);
}

}  // namespace
}  // namespace diml
