// One table of cases; every kernel, every SIMD target and every cell type is tested against the
// reference on it.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "diml/matcher.h"
#include "diml/retriever.h"
#include "match/match_on_device.h"
#include "match/simd_targets.h"
#include "random_grid.h"

namespace diml {
namespace {

struct Case {
  const char* name;
  std::size_t source_cells;
  std::size_t target_cells;
  std::size_t dim;
  CellType type = CellType::float32;
  MarginalRule marginals = MarginalRule::cross_correlation;
  double lambda = 0.05;
  double mass = 1.0;
};

constexpr MarginalRule kCross = MarginalRule::cross_correlation;

// Sizes below, at and above every vector length and tile, every loop of the CPU solver, odd
// dimensions.
const std::vector<Case>& cases() {
  static const std::vector<Case> table = {
      {"4x4x128", 16, 16, 128},
      {"4x4x128 float16", 16, 16, 128, CellType::float16},
      {"4x4x128 bfloat16", 16, 16, 128, CellType::bfloat16},
      {"4x4x128 uniform", 16, 16, 128, CellType::float32, MarginalRule::uniform},
      {"4x4x128 smooth", 16, 16, 128, CellType::float32, MarginalRule::cross_correlation, 1.0},
      {"4x4x128 sharp", 16, 16, 128, CellType::float32, MarginalRule::cross_correlation, 0.025},
      {"4x4x128 in double", 16, 16, 128, CellType::float32, MarginalRule::cross_correlation, 0.004},
      {"4x4x128 bfloat16 in double", 16, 16, 128, CellType::bfloat16,
       MarginalRule::cross_correlation, 0.004},
      {"7x7x64 in double", 49, 49, 64, CellType::float32, MarginalRule::cross_correlation, 0.01},
      {"3x5 against 2x4 in double, uniform", 15, 8, 37, CellType::float32, MarginalRule::uniform,
       0.01},
      {"17 cells against one in double", 17, 1, 8, CellType::float32,
       MarginalRule::cross_correlation, 0.005},
      {"3x3 against 2x2 through logarithms", 9, 4, 8, CellType::float32,
       MarginalRule::cross_correlation, 0.001},
      {"7x7x128", 49, 49, 128},
      {"7x7x64 float16", 49, 49, 64, CellType::float16},
      {"7x7x64 bfloat16", 49, 49, 64, CellType::bfloat16},
      {"3x5 against 2x4, odd dimension", 15, 8, 37},
      {"2x4 against 3x5, odd dimension float16", 8, 15, 37, CellType::float16},
      {"2x4 against 3x5, odd dimension bfloat16", 8, 15, 37, CellType::bfloat16},
      {"one cell against one", 1, 1, 3},
      {"one cell against 4x4", 1, 16, 8},
      {"4x4 against one cell", 16, 1, 8},
      {"17 cells against 16", 17, 16, 20},
      {"16 cells against 17", 16, 17, 20},
      {"5x5 against 3x3", 25, 9, 33},
      {"6x6", 36, 36, 48},
      {"14x14 against 7x7", 196, 49, 16},
      {"14x14", 196, 196, 24},
      {"one dimension", 6, 5, 1},
      {"2048 dimensions", 9, 9, 2048},
      {"4096 dimensions float16", 4, 4, 4096, CellType::float16},
      {"4x4x128, the middle counts", 16, 16, 128, CellType::float32, MarginalRule::centre},
      {"7x7 against 3x5, the middle counts", 49, 15, 37, CellType::float32, MarginalRule::centre},
      {"4x4x128, half of the mass", 16, 16, 128, CellType::float32, kCross, 0.05, 0.5},
      {"4x4x128 bfloat16, nine tenths", 16, 16, 128, CellType::bfloat16, kCross, 0.05, 0.9},
      {"4x4x128 in double, half", 16, 16, 128, CellType::float32, kCross, 0.004, 0.5},
      {"3x5 against 2x4, a fifth", 15, 8, 37, CellType::float32, MarginalRule::uniform, 0.05, 0.2},
      {"one cell against one, half", 1, 1, 3, CellType::float32, kCross, 0.05, 0.5},
      {"7x7x128, four fifths", 49, 49, 128, CellType::float32, kCross, 0.05, 0.8},
      {"14x14 against 7x7, three fifths", 196, 49, 16, CellType::float32, kCross, 0.05, 0.6},
  };
  return table;
}

// What a backend has.
std::vector<Case> cases_of(Backend backend) {
  std::vector<Case> own = cases();
  if (backend != Backend::cuda) return own;
  std::erase_if(own,
                [](const Case& c) { return c.mass < 1.0 || c.marginals == MarginalRule::centre; });
  return own;
}

constexpr std::size_t kSources = 3;
constexpr std::size_t kTargets = 23;

struct Grids {
  explicit Grids(const Case& c)
      : sources(test::random_set(kSources, c.source_cells, c.dim, 1, c.type)),
        targets(test::random_set(kTargets, c.target_cells, c.dim, 2, c.type)) {
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(kSources); ++s) {
      for (std::int64_t t = 0; t < static_cast<std::int64_t>(kTargets); ++t)
        pairs.push_back({s, t});
    }
  }
  PairBatch batch() const { return {sources.view(), targets.view(), pairs}; }

  GridSet sources;
  GridSet targets;
  std::vector<Pair> pairs;
};

// Tight, so that only the arithmetic differs, not the number of iterations.
MatchParams params_of(const Case& c) {
  return {c.marginals,
          {.lambda = c.lambda, .tolerance = 2e-6, .max_iterations = 100000, .mass = c.mass},
          Certificate::none};
}

// A fast matcher, and the SIMD target it is to use.
struct Kernel {
  Backend backend;
  std::string target;
  std::string name() const {
    return std::string(name_of(backend)) + (target.empty() ? "" : " on " + target);
  }
};

std::vector<Kernel> kernels(Backend backend) {
  if (backend == Backend::cuda) return {{Backend::cuda, ""}};
  std::vector<Kernel> all;
  for (const std::string& target : simd_targets()) all.push_back({Backend::cpu, target});
  return all;
}

// For every known matcher; one that is not available is skipped with the reason.
class Agreement : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    const bool on_card = GetParam() == Backend::cuda;
    if (on_card && !cuda::is_available()) GTEST_SKIP() << cuda::describe_device();
    if (!on_card && simd_targets().empty()) GTEST_SKIP() << "built without Highway";
    ASSERT_FALSE(kernels().empty());
  }
  void TearDown() override { force_simd_target(""); }

  static std::vector<Kernel> kernels() { return diml::kernels(GetParam()); }
  static std::unique_ptr<Matcher> use(const Kernel& kernel, int threads = 0) {
    if (!kernel.target.empty()) force_simd_target(kernel.target);
    return make_matcher(kernel.backend, {threads});
  }
};
INSTANTIATE_TEST_SUITE_P(Of, Agreement, testing::Values(Backend::cpu, Backend::cuda),
                         [](const auto& tested) { return name_of(tested.param); });

class SimdTargets : public testing::Test {
 protected:
  void SetUp() override {
    if (simd_targets().empty()) GTEST_SKIP() << "built without Highway";
  }
  void TearDown() override { force_simd_target(""); }
};

TEST_F(SimdTargets, AForcedOneIsTheOneInUse) {
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    EXPECT_EQ(active_simd_target(), target);
  }
  force_simd_target("");
  EXPECT_EQ(active_simd_target(), simd_targets().front());
}

TEST_P(Agreement, WithTheReference) {
  for (const Case& c : cases_of(GetParam())) {
    const Grids grids(c);
    const std::size_t plan_size = c.source_cells * c.target_cells;
    std::vector<float> expected(grids.pairs.size());
    std::vector<float> expected_plans(grids.pairs.size() * plan_size);
    make_matcher(Backend::reference)->plans(grids.batch(), params_of(c), expected, expected_plans);
    // Native bfloat16 dot products round the globals too.
    const double tolerance = c.type == CellType::bfloat16 ? 1e-3 : 1e-5;
    for (const Kernel& kernel : kernels()) {
      const std::string target = kernel.name();
      std::vector<float> scores(expected.size());
      std::vector<float> plans(expected_plans.size());
      std::vector<PairReport> reports(expected.size());
      use(kernel)->plans(grids.batch(), params_of(c), scores, plans, reports);
      for (std::size_t k = 0; k < scores.size(); ++k) {
        ASSERT_NEAR(scores[k], expected[k], tolerance)
            << c.name << " on " << target << ", pair " << k;
        ASSERT_TRUE(reports[k].converged)
            << c.name << " on " << target << ": " << reports[k].marginal_error << " after "
            << reports[k].iterations;
        double difference = 0.0;
        for (std::size_t m = k * plan_size; m < (k + 1) * plan_size; ++m) {
          difference += std::abs(plans[m] - expected_plans[m]);
        }
        ASSERT_LT(difference, 10 * tolerance) << c.name << " on " << target << ", pair " << k;
      }
    }
  }
}

// At the default tolerance both stop within it: what the user sees differs by no more than that.
TEST_P(Agreement, AtTheDefaultToleranceScoresDifferByLessThanIt) {
  for (const Case& c : cases_of(GetParam())) {
    if (c.type == CellType::bfloat16) continue;
    const Grids grids(c);
    // Small lambdas take plain iterations beyond the default limit.
    MatchParams params{c.marginals,
                       {.lambda = c.lambda, .max_iterations = 100000, .mass = c.mass},
                       Certificate::none};
    std::vector<float> expected(grids.pairs.size());
    make_matcher(Backend::reference)->score(grids.batch(), params, expected);
    for (const Kernel& kernel : kernels()) {
      std::vector<float> scores(grids.pairs.size());
      use(kernel)->score(grids.batch(), params, scores);
      for (std::size_t k = 0; k < scores.size(); ++k)
        ASSERT_NEAR(scores[k], expected[k], 1e-4) << c.name << " on " << kernel.name();
    }
  }
}

TEST_P(Agreement, ScoresAreBitEqualForAnyThreadCountAndBatchSize) {
  for (const Case& c : cases_of(GetParam())) {
    if (c.source_cells > 49 || c.lambda == 0.001) continue;  // no other code, only slower
    const Grids grids(c);
    const MatchParams params{c.marginals, {.lambda = c.lambda, .mass = c.mass}, Certificate::none};
    for (const Kernel& kernel : kernels()) {
      const std::string target = kernel.name();
      std::vector<float> expected(grids.pairs.size());
      use(kernel, 1)->score(grids.batch(), params, expected);
      for (const int threads : {1, 2, 5}) {
        const auto matcher = use(kernel, threads);
        for (const std::size_t size :
             {std::size_t{1}, std::size_t{2}, std::size_t{7}, grids.pairs.size()}) {
          std::vector<float> scores(grids.pairs.size());
          for (std::size_t first = 0; first < grids.pairs.size(); first += size) {
            const std::size_t count = std::min(size, grids.pairs.size() - first);
            matcher->score({grids.sources.view(), grids.targets.view(),
                            std::span(grids.pairs).subspan(first, count)},
                           params, std::span(scores).subspan(first, count));
          }
          ASSERT_EQ(scores, expected)
              << c.name << " on " << target << ", " << threads << " threads, batches of " << size;
        }
      }
    }
  }
}

TEST_P(Agreement, ScoresAreBitEqualForAnyOrderOfThePairs) {
  const Grids grids(cases().front());
  std::vector<Pair> reversed(grids.pairs.rbegin(), grids.pairs.rend());
  for (const Kernel& kernel : kernels()) {
    std::vector<float> forward(grids.pairs.size());
    std::vector<float> backward(grids.pairs.size());
    const auto matcher = use(kernel);
    matcher->score(grids.batch(), {}, forward);
    matcher->score({grids.sources.view(), grids.targets.view(), reversed}, {}, backward);
    EXPECT_EQ(forward, std::vector<float>(backward.rbegin(), backward.rend())) << kernel.name();
  }
}

TEST_P(Agreement, CellsNeedNoAlignment) {
  const Grids grids(cases().front());
  const std::size_t floats = kTargets * 16 * 128;
  std::vector<float> shifted(floats + 1);
  std::copy_n(static_cast<const float*>(grids.targets.view().cells), floats, shifted.begin() + 1);
  GridSetView unaligned = grids.targets.view();
  unaligned.cells = shifted.data() + 1;
  for (const Kernel& kernel : kernels()) {
    std::vector<float> expected(grids.pairs.size());
    std::vector<float> scores(grids.pairs.size());
    use(kernel)->score(grids.batch(), {}, expected);
    use(kernel)->score({grids.sources.view(), unaligned, grids.pairs}, {}, scores);
    EXPECT_EQ(scores, expected) << kernel.name();
  }
}

TEST_F(SimdTargets, RankTheFirstStageAlike) {
  const GridSet set = test::random_set(500, 1, 19, 3);
  Ranking expected;
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    const Ranking ranking = Retriever(set.view(), {}, Backend::cpu).candidates(set.view(), 40);
    if (expected.ids.empty()) expected = ranking;
    ASSERT_EQ(ranking.scores.size(), expected.scores.size());
    for (std::size_t k = 0; k < ranking.scores.size(); ++k) {
      ASSERT_NEAR(ranking.scores[k], expected.scores[k], 1e-6) << target;
    }
  }
}

}  // namespace
}  // namespace diml
