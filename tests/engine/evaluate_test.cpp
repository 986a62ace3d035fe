#include "diml/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/generated.h"

namespace diml {
namespace {

// A second, slow implementation of the protocol: full sorts, reference matches, metrics in plain
// loops.
double slow_p_at_1(const GeneratedGrids& generated, std::size_t k) {
  const std::size_t size = generated.labels.size();
  double hits = 0.0;
  for (std::size_t q = 0; q < size; ++q) {
    std::vector<std::pair<double, std::size_t>> ranked;
    for (std::size_t id = 0; id < size; ++id) {
      if (id == q) continue;
      double cosine = 0.0;
      for (std::size_t d = 0; d < generated.grids.dim(); ++d) {
        cosine += generated.grids[q].global[d] * generated.grids[id].global[d];
      }
      ranked.push_back({-cosine, id});
    }
    std::sort(ranked.begin(), ranked.end());
    for (std::size_t rank = 0; rank < k; ++rank) {
      ranked[rank].first -= match(generated.grids[q], generated.grids[ranked[rank].second]).score;
    }
    std::sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(k));
    hits += generated.labels[ranked[0].second] == generated.labels[q] ? 1.0 : 0.0;
  }
  return hits / static_cast<double>(size);
}

TEST(Evaluate, ADepthThatTakesInTheWholeGalleryRanksAllOfIt) {
  const GeneratedGrids generated =
      generate_grids({.size = 120, .classes = 12, .grid = 3, .dim = 16, .seed = 5});
  // The first keeps lists of 1,024 at most, the second matches everything and keeps the best.
  const Evaluation evaluation =
      evaluate(generated.grids.view(), generated.labels, {.rerank = {0, 119, 5000}, .match = {}});
  const RetrievalMetrics& cosine = evaluation.results[0].metrics;
  const RetrievalMetrics& held = evaluation.results[1].metrics;
  const RetrievalMetrics& all = evaluation.results[2].metrics;
  EXPECT_NEAR(all.p_at_1, slow_p_at_1(generated, 119), 1e-9);
  EXPECT_NEAR(all.p_at_1, held.p_at_1, 1e-9);
  EXPECT_NEAR(all.r_precision, held.r_precision, 1e-9);
  EXPECT_NEAR(all.map_at_r, held.map_at_r, 1e-9);
  EXPECT_EQ(all.recall_at, held.recall_at);
  EXPECT_GT(std::abs(all.map_at_r - cosine.map_at_r), 0.01) << "a test of nothing";
}

TEST(Evaluate, FollowsTheProtocolForEveryK) {
  const GeneratedGrids generated =
      generate_grids({.size = 120, .classes = 12, .grid = 3, .dim = 16, .seed = 5});
  const Evaluation evaluation =
      evaluate(generated.grids.view(), generated.labels, {.rerank = {0, 5, 20, 3}, .match = {}});
  ASSERT_EQ(evaluation.results.size(), 4u);
  for (const RerankResult& result : evaluation.results) {
    EXPECT_NEAR(result.metrics.p_at_1, slow_p_at_1(generated, result.rerank), 1e-9)
        << result.rerank;
  }
  EXPECT_EQ(evaluation.results[3].rerank, 3u);
  EXPECT_EQ(evaluation.queries, 120u);
}

TEST(Evaluate, AResultDoesNotDependOnTheOtherKs) {
  const GeneratedGrids generated = generate_grids({.size = 300, .classes = 30});
  const auto map_at_r = [&](std::vector<std::size_t> rerank, std::size_t index) {
    return evaluate(generated.grids.view(), generated.labels, {.rerank = rerank, .match = {}})
        .results[index]
        .metrics.map_at_r;
  };
  EXPECT_EQ(map_at_r({10}, 0), map_at_r({0, 10, 200}, 1));
}

TEST(Evaluate, LeavesOutQueriesAloneInTheirClass) {
  GeneratedGrids generated = generate_grids({.size = 40, .classes = 4});
  generated.labels[7] = 1000;
  const Evaluation evaluation = evaluate(generated.grids.view(), generated.labels);
  EXPECT_EQ(evaluation.left_out, 1u);
  EXPECT_EQ(evaluation.queries, 39u);
  EXPECT_EQ(evaluation.results[0].metrics.queries, 39u);
}

TEST(Evaluate, NumbersOfTheClassesAverageToTheWhole) {
  const GeneratedGrids generated = generate_grids({.size = 90, .classes = 7});
  const Evaluation evaluation = evaluate(generated.grids.view(), generated.labels);
  const RerankResult& result = evaluation.results.back();
  double sum = 0.0;
  for (const auto& [label, metrics] : result.per_class) {
    sum += metrics.map_at_r * static_cast<double>(metrics.queries);
  }
  EXPECT_NEAR(sum / 90.0, result.metrics.map_at_r, 1e-12);
  EXPECT_EQ(result.per_class.size(), 7u);
}

TEST(Evaluate, NmiComesOnRequest) {
  const GeneratedGrids generated = generate_grids({.size = 60, .classes = 3});
  EXPECT_FALSE(evaluate(generated.grids.view(), generated.labels).nmi.has_value());
  const Evaluation evaluation =
      evaluate(generated.grids.view(), generated.labels, {.match = {}, .nmi = true});
  ASSERT_TRUE(evaluation.nmi.has_value());
  EXPECT_GT(*evaluation.nmi, 0.0);
  EXPECT_LE(*evaluation.nmi, 1.0);
}

TEST(Evaluate, RefusesLabelsThatLeaveNothingToFind) {
  const GeneratedGrids generated = generate_grids({.size = 10, .classes = 10});
  EXPECT_THROW(evaluate(generated.grids.view(), generated.labels), Error);
}

TEST(Evaluate, OneLargeClassIsRankedToItsEnd) {
  const GeneratedGrids generated = generate_grids({.size = 700, .classes = 1, .grid = 1, .dim = 4});
  const Evaluation evaluation =
      evaluate(generated.grids.view(), generated.labels, {.rerank = {0}, .match = {}});
  EXPECT_EQ(evaluation.results[0].metrics.r_precision, 1.0);
  EXPECT_EQ(evaluation.results[0].metrics.map_at_r, 1.0);
}

TEST(Evaluate, RefusesWhatDoesNotFit) {
  const GeneratedGrids generated = generate_grids({.size = 10, .classes = 2});
  EXPECT_THROW(evaluate(generated.grids.view(), std::vector<std::int64_t>(9)), Error);
  EXPECT_THROW(evaluate(generated.grids.view(), generated.labels, {.rerank = {}, .match = {}}),
               Error);
}

}  // namespace
}  // namespace diml
