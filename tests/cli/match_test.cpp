#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/float16.h"
#include "cli/grid_folder.h"

namespace diml::test {
namespace {

class MatchCommand : public GridFolder {
 protected:
  // The scores in S.npy are those of the library's reference.
  void expect_scores(const std::vector<float>& scores, const GridSet& set,
                     const MatchParams& params = {}, double tolerance = 1e-4) const {
    const std::vector<StructuralMatch> expected = library_matches(set, pairs_, params);
    ASSERT_EQ(scores.size(), expected.size());
    for (std::size_t k = 0; k < scores.size(); ++k) {
      EXPECT_NEAR(scores[k], expected[k].score, tolerance) << "pair " << k;
    }
  }

  // Rows of the plans in T.npy sum to the source's weights, columns to the target's.
  void expect_plans(const MatchParams& params = {}) const {
    const GridSet set = grids();
    const std::vector<float> plans = read_floats(at("T.npy"), {pairs_.size(), kCells, kCells});
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const Marginals marginals =
          make_marginals(set[static_cast<std::size_t>(pairs_[k].source)],
                         set[static_cast<std::size_t>(pairs_[k].target)], params.marginals);
      for (std::size_t i = 0; i < kCells; ++i) {
        double row = 0.0;
        double column = 0.0;
        for (std::size_t j = 0; j < kCells; ++j) {
          row += plans[(k * kCells + i) * kCells + j];
          column += plans[(k * kCells + j) * kCells + i];
        }
        EXPECT_NEAR(row, marginals.source[i], 1e-3) << "pair " << k << ", source cell " << i;
        EXPECT_NEAR(column, marginals.target[i], 1e-3) << "pair " << k << ", target cell " << i;
      }
    }
  }
};

std::vector<std::string> sinkhorn_matchers() {
  std::vector<std::string> names = {"auto", "reference"};
  if (is_available(Backend::cpu)) names.push_back("cpu");
  return names;
}

TEST_F(MatchCommand, WritesAFloat32ScoreForEachPair) {
  run_well(match());
  const NpyFile file(at("S.npy"));
  EXPECT_EQ(file.type(), ArrayType::float32);
  EXPECT_EQ(file.shape(), (Shape{pairs_.size()}));
}

TEST_F(MatchCommand, WritesAFloat32PlanForEachPair) {
  run_well(match({"--plans", "T.npy"}));
  const NpyFile file(at("T.npy"));
  EXPECT_EQ(file.type(), ArrayType::float32);
  EXPECT_EQ(file.shape(), (Shape{pairs_.size(), kCells, kCells}));
}

TEST_F(MatchCommand, WritesNoOtherFile) {
  run_well(match());
  EXPECT_EQ(folder_.names(),
            (std::vector<std::string>{"C.npy", "L.npy", "P.npy", "S.npy", "V.npy"}));
}

TEST_F(MatchCommand, ScoresAreThoseOfTheReferenceWithEveryMatcher) {
  for (const std::string& matcher : sinkhorn_matchers()) {
    SCOPED_TRACE(matcher);
    expect_scores(match_scores({"--matcher", matcher}), grids());
  }
}

TEST_F(MatchCommand, ScoresAreTheSameWhetherPlansAreWantedOrNot) {
  for (const std::string& matcher : sinkhorn_matchers()) {
    SCOPED_TRACE(matcher);
    const std::vector<float> alone = match_scores({"--matcher", matcher});
    EXPECT_EQ(match_scores({"--matcher", matcher, "--plans", "T.npy"}), alone);
  }
}

TEST_F(MatchCommand, PlansMeetTheMarginalsWithEveryMatcher) {
  for (const std::string& matcher : sinkhorn_matchers()) {
    SCOPED_TRACE(matcher);
    run_well(match({"--plans", "T.npy", "--matcher", matcher}));
    expect_plans();
  }
}

TEST_F(MatchCommand, ScoresAreTheSumsOfPlanTimesSimilarity) {
  const std::vector<float> scores = match_scores({"--plans", "T.npy"});
  const std::vector<float> plans = read_floats(at("T.npy"), {pairs_.size(), kCells, kCells});
  const std::vector<StructuralMatch> expected = library_matches(grids(), pairs_);
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    double sum = 0.0;
    for (std::size_t c = 0; c < kCells * kCells; ++c) {
      sum += plans[k * kCells * kCells + c] * expected[k].similarity[c];
    }
    EXPECT_NEAR(scores[k], sum, 1e-5) << "pair " << k;
  }
}

TEST_F(MatchCommand, ExactFindsTheUnregularisedOptimum) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without exact transport";
  MatchParams params;
  params.transport.backend = Backend::exact;
  const std::vector<float> exact = match_scores({"--matcher", "exact", "--plans", "T.npy"});
  expect_scores(exact, grids(), params, 1e-6);
  expect_plans();
  const std::vector<float> entropic = match_scores({"--matcher", "reference"});
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    if (pairs_[k].source == pairs_[k].target) continue;
    EXPECT_GT(exact[k], entropic[k] + 1e-3) << "pair " << k << ": blurring costs similarity";
  }
}

TEST_F(MatchCommand, TakesTheMeanOfTheCellsWithoutGlobals) {
  std::vector<float> means(kImages * kDim);
  for (std::size_t c = 0; c < kImages * kCells; ++c) {
    for (std::size_t d = 0; d < kDim; ++d) means[c / kCells * kDim + d] += cells_[c * kDim + d];
  }
  const std::vector<float> with_given = match_scores();
  run_well({"match", "--cells", "C.npy", "--pairs", "P.npy", "--out", "S.npy"});
  const std::vector<float> without = read_floats(at("S.npy"), {pairs_.size()});
  write_floats(at("V.npy"), {kImages, kDim}, means);
  const std::vector<float> with_means = match_scores();
  double difference = 0.0;
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    EXPECT_NEAR(without[k], with_means[k], 1e-5) << "pair " << k;
    difference = std::max(difference, std::abs(static_cast<double>(without[k]) - with_given[k]));
  }
  EXPECT_GT(difference, 1e-3) << "globals of their own make a difference";
}

TEST_F(MatchCommand, NormalisesCellsAndGlobals) {
  const std::vector<float> before = match_scores();
  for (std::size_t k = 0; k < cells_.size(); ++k) {
    cells_[k] *= static_cast<float>(1 + k / kDim % 7);  // each cell by another number
  }
  for (std::size_t k = 0; k < globals_.size(); ++k) {
    globals_[k] *= static_cast<float>(1 + k / kDim % 5);
  }
  write_floats(at("C.npy"), {kImages, kCells, kDim}, cells_);
  write_floats(at("V.npy"), {kImages, kDim}, globals_);
  const std::vector<float> after = match_scores();
  for (std::size_t k = 0; k < before.size(); ++k) EXPECT_NEAR(after[k], before[k], 1e-5);
}

TEST_F(MatchCommand, AcceptsFloat16) {
  write_floats(at("C.npy"), {kImages, kCells, kDim}, cells_, ArrayType::float16);
  write_floats(at("V.npy"), {kImages, kDim}, globals_, ArrayType::float16);
  for (float& value : cells_) value = to_float(to_float16(value));
  for (float& value : globals_) value = to_float(to_float16(value));
  expect_scores(match_scores(), grids());
}

TEST_F(MatchCommand, HoldsCellsInHalfPrecisionOnRequest) {
  const std::vector<float> full = match_scores();
  for (const char* storage : {"float16", "bfloat16"}) {
    const std::vector<float> half = match_scores({"--storage", storage});
    EXPECT_NE(half, full) << storage;
    for (std::size_t k = 0; k < full.size(); ++k) EXPECT_NEAR(half[k], full[k], 1e-2) << storage;
  }
}

TEST_F(MatchCommand, WeighsCellsEquallyWithUniformMarginals) {
  const MatchParams params{MarginalRule::uniform, {}, Certificate::none};
  expect_scores(match_scores({"--marginals", "uniform", "--plans", "T.npy"}), grids(), params);
  expect_plans(params);
}

TEST_F(MatchCommand, WeighsCellsByTheirPlaceWithMarginalsCentre) {
  const MatchParams params{MarginalRule::centre, {}, Certificate::none};
  expect_scores(match_scores({"--marginals", "centre", "--plans", "T.npy"}), grids(), params);
  expect_plans(params);
}

TEST_F(MatchCommand, TransportsAShareOfTheMass) {
  MatchParams params;
  params.transport.mass = 0.5;
  const std::vector<float> half = match_scores({"--mass", "0.5", "--plans", "T.npy"});
  expect_scores(half, grids(), params);
  expect_plans(params);
  EXPECT_LT(half[0], 0.5F);
  expect_refused(match({"--mass", "0"}), {"mass is 0", "0.01 to 1"});
}

TEST_F(MatchCommand, ObeysLambda) {
  MatchParams params;
  params.transport.lambda = 0.4;
  const std::vector<float> smooth = match_scores({"--lambda", "0.4"});
  expect_scores(smooth, grids(), params);
  EXPECT_LT(smooth[0], match_scores()[0] - 1e-2);
}

TEST_F(MatchCommand, MeasuresDistancesOnRequest) {
  const std::vector<StructuralMatch> expected = library_matches(grids(), pairs_);
  const std::vector<float> distances = match_scores({"--quantity", "distance"});
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    EXPECT_NEAR(distances[k], expected[k].distance, 1e-3) << "pair " << k;
  }
}

TEST_F(MatchCommand, GivesTheSameBytesWithAnyNumberOfThreads) {
  for (const std::string& matcher : sinkhorn_matchers()) {
    run_well(match({"--threads", "1", "--matcher", matcher}));
    const std::string one = bytes_of(at("S.npy"));
    run_well(match({"--threads", "3", "--matcher", matcher}));
    EXPECT_EQ(bytes_of(at("S.npy")), one) << matcher;
  }
}

TEST_F(MatchCommand, TakesMorePairsThanItHoldsAtOnce) {
  constexpr std::size_t kMany = 40000;
  std::vector<std::int64_t> values(2 * kMany);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Pair& pair = pairs_[k / 2 % pairs_.size()];
    values[k] = k % 2 == 0 ? pair.source : pair.target;
  }
  const std::vector<float> few = match_scores();
  write_integers(at("P.npy"), {kMany, 2}, values);
  run_well(match());
  const std::vector<float> many = read_floats(at("S.npy"), {kMany});
  for (std::size_t k = 0; k < kMany; ++k) ASSERT_EQ(many[k], few[k % few.size()]) << k;
}

TEST_F(MatchCommand, WritesEmptyArraysForNoPairs) {
  write_integers(at("P.npy"), {0, 2}, {});
  run_well(match({"--plans", "T.npy"}));
  EXPECT_EQ(NpyFile(at("S.npy")).shape(), (Shape{0}));
  EXPECT_EQ(NpyFile(at("T.npy")).shape(), (Shape{0, kCells, kCells}));
}

TEST_F(MatchCommand, ReplacesAnOldResult) {
  write_bytes(at("S.npy"), "old");
  expect_scores(match_scores(), grids());
}

}  // namespace
}  // namespace diml::test
