// The affine prior: every SIMD target and every cell type against the reference.
#include <gtest/gtest.h>

#include "diml/matcher.h"
#include "match/simd_targets.h"
#include "placed_grid.h"

namespace diml {
namespace {

struct Case {
  const char* name;
  GridShape source;
  GridShape target;
  CellType type = CellType::float32;
  double lambda = 0.05;
  double noise = 0.5;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> table = {
      {"4x4", {4, 4}, {4, 4}},
      {"7x7", {7, 7}, {7, 7}},
      {"7x7 float16", {7, 7}, {7, 7}, CellType::float16},
      {"3x5 against 4x3", {3, 5}, {4, 3}},
      {"in double", {5, 5}, {5, 5}, CellType::float32, 0.01},
      {"through logarithms", {3, 3}, {4, 4}, CellType::float32, 0.001},
      {"hardly any structure", {6, 6}, {6, 6}, CellType::float32, 0.05, 8.0},
  };
  return table;
}

constexpr AffineMap kMirrored = {-0.9, 0.1, 0.05, 0.0, 0.8, 0.0};

TEST(PriorAgreement, EverySimdTargetAgreesWithTheReference) {
  if (simd_targets().empty()) GTEST_SKIP() << "built without Highway";
  for (const Case& c : cases()) {
    constexpr std::size_t kDim = 40;
    GridSet sources(1, c.source.count(), kDim, c.type);
    GridSet targets(5, c.target.count(), kDim, c.type);
    sources.put(0, test::placed_grid(c.source, kDim, {1, 0, 0, 0, 1, 0}, 1, c.noise, 3.0, c.type));
    std::vector<Pair> pairs;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      targets.put(t, test::placed_grid(c.target, kDim, kMirrored, 2 + t, c.noise, 3.0, c.type));
      pairs.push_back({0, static_cast<std::int64_t>(t)});
    }
    MatchParams params;
    params.transport = {.lambda = c.lambda, .tolerance = 2e-6, .max_iterations = 100000};
    params.prior = Prior::affine;
    params.source_shape = c.source;
    params.target_shape = c.target;
    const PairBatch batch{sources.view(), targets.view(), pairs};
    const std::size_t plan_size = c.source.count() * c.target.count();
    const auto solve = [&](Backend backend, std::vector<float>& scores, std::vector<float>& plans,
                           std::vector<PairReport>& reports) {
      scores.resize(pairs.size());
      plans.resize(pairs.size() * plan_size);
      reports.resize(pairs.size());
      make_matcher(backend)->plans(batch, params, scores, plans, reports);
    };
    std::vector<float> wanted_scores, wanted_plans;
    std::vector<PairReport> wanted;
    solve(Backend::reference, wanted_scores, wanted_plans, wanted);
    for (const std::string& target : simd_targets()) {
      SCOPED_TRACE(std::string(c.name) + " on " + target);
      force_simd_target(target);
      std::vector<float> scores, plans;
      std::vector<PairReport> reports;
      solve(Backend::cpu, scores, plans, reports);
      for (std::size_t k = 0; k < pairs.size(); ++k) {
        EXPECT_NEAR(scores[k], wanted_scores[k], 5e-5);
        ASSERT_TRUE(reports[k].prior && wanted[k].prior);
        EXPECT_EQ(reports[k].prior->doubt, wanted[k].prior->doubt);
        EXPECT_EQ(reports[k].prior->rounds, wanted[k].prior->rounds);
        EXPECT_NEAR(reports[k].prior->support, wanted[k].prior->support, 1e-3);
      }
      for (std::size_t k = 0; k < plans.size(); ++k) {
        ASSERT_NEAR(plans[k], wanted_plans[k], 5e-5) << k;
      }
    }
    force_simd_target("");
  }
}

// The cases are of use only if the prior is used in some of them and refused in others.
TEST(PriorAgreement, TheCasesHavePriorsThatAreTrustedAndOthersThatAreNot) {
  const auto trusted = [](double noise) {
    MatchParams params;
    params.prior = Prior::affine;
    const auto report = match(test::placed_grid({6, 6}, 40, {1, 0, 0, 0, 1, 0}, 1, noise, 3.0),
                              test::placed_grid({6, 6}, 40, kMirrored, 2, noise, 3.0), params)
                            .prior;
    return report && report->trusted();
  };
  EXPECT_TRUE(trusted(0.5));
  EXPECT_FALSE(trusted(8.0));
}

}  // namespace
}  // namespace diml
