#include "diml/matcher.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "random_grid.h"

namespace diml {
namespace {

// Every known matcher; one that is not available is skipped with a message.
class EachMatcher : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) {
      GTEST_SKIP() << "there is no matcher " << name_of(GetParam()) << " on this machine";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Of, EachMatcher,
                         testing::Values(Backend::reference, Backend::cpu, Backend::exact,
                                         Backend::cuda),
                         [](const auto& tested) { return name_of(tested.param); });

// Another plan has another distance.
class EachEntropicMatcher : public EachMatcher {};
INSTANTIATE_TEST_SUITE_P(Of, EachEntropicMatcher,
                         testing::Values(Backend::reference, Backend::cpu, Backend::cuda),
                         [](const auto& tested) { return name_of(tested.param); });

TEST_P(EachMatcher, PlansRowsAreSourceCells) {
  const GridSet sources = test::random_set(3, 15, 12, 1);
  const GridSet targets = test::random_set(4, 8, 12, 2);
  const std::vector<Pair> pairs = {{0, 3}, {2, 1}};
  const char* name = name_of(GetParam());
  const auto matcher = make_matcher(GetParam());
  EXPECT_EQ(matcher->backend(), GetParam());
  std::vector<float> scores(2);
  std::vector<float> plans(2 * 15 * 8);
  std::vector<PairReport> reports(2);
  matcher->plans({sources.view(), targets.view(), pairs}, {}, scores, plans, reports);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const GridView source = sources[static_cast<std::size_t>(pairs[k].source)];
    const GridView target = targets[static_cast<std::size_t>(pairs[k].target)];
    const Marginals marginals = make_marginals(source, target);
    double score = 0.0;
    for (std::size_t i = 0; i < 15; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < 8; ++j) {
        const float mass = plans[(k * 15 + i) * 8 + j];
        double similarity = 0.0;
        for (std::size_t d = 0; d < 12; ++d) similarity += source.at(i, d) * target.at(j, d);
        sum += mass;
        score += mass * similarity;
      }
      EXPECT_NEAR(sum, marginals.source[i], 2e-4) << name;
    }
    EXPECT_NEAR(score, scores[k], 1e-5) << name;
    EXPECT_TRUE(reports[k].converged) << name;
  }
}

TEST_P(EachEntropicMatcher, DistanceIsThatOfTheWholeMatch) {
  const GridSet set = test::random_set(2, 16, 20, 3);
  const std::vector<Pair> pairs = {{0, 1}};
  const double expected = match(set[0], set[1], {.transport = {.tolerance = 1e-6}}).distance;
  const char* name = name_of(GetParam());
  std::vector<float> distances(1);
  make_matcher(GetParam())
      ->score({set.view(), set.view(), pairs}, {.transport = {.tolerance = 1e-6}}, distances, {},
              Quantity::distance);
  EXPECT_NEAR(distances[0], expected, 1e-5) << name;
}

TEST_P(EachMatcher, CertificatesComeOnRequest) {
  const GridSet set = test::random_set(6, 16, 20, 4);
  const std::vector<Pair> pairs = {{0, 1}, {2, 3}, {4, 5}};
  const char* name = name_of(GetParam());
  std::vector<float> scores(3);
  std::vector<float> plain(3);
  std::vector<PairReport> reports(3);
  const PairBatch batch{set.view(), set.view(), pairs};
  make_matcher(GetParam())->score(batch, {}, plain, reports);
  EXPECT_FALSE(reports[0].bracket.has_value());
  make_matcher(GetParam())
      ->score(batch, {.certificate = Certificate::duality_gap}, scores, reports);
  for (std::size_t k = 0; k < 3; ++k) {
    ASSERT_TRUE(reports[k].bracket.has_value()) << name;
    EXPECT_LE(scores[k], 1.0 - reports[k].bracket->lower + 1e-5) << name;
    EXPECT_GE(reports[k].bracket->gap(), -1e-6) << name;
    EXPECT_NEAR(scores[k], plain[k], 1e-6) << name;
  }
}

TEST(Matcher, RefusesWhatDoesNotFit) {
  const GridSet set = test::random_set(2, 4, 8, 1);
  const GridSet other = test::random_set(2, 4, 9, 1);
  const auto matcher = make_matcher();
  std::vector<float> scores(1);
  const auto score = [&](GridSetView sources, GridSetView targets, Pair pair) {
    matcher->score({sources, targets, std::span(&pair, 1)}, {}, scores);
  };
  EXPECT_NO_THROW(score(set.view(), set.view(), {0, 1}));
  EXPECT_THROW(score(set.view(), other.view(), {0, 1}), Error);
  EXPECT_THROW(score(set.view(), set.view(), {0, 2}), Error);
  EXPECT_THROW(score(set.view(), set.view(), {-1, 0}), Error);
  const std::vector<Pair> two = {{0, 1}, {1, 0}};
  EXPECT_THROW(matcher->score({set.view(), set.view(), two}, {}, scores), Error);
  EXPECT_THROW(matcher->score({set.view(), set.view(), {}}, {.transport = {.lambda = 0.0}}, {}),
               Error);
  EXPECT_THROW(backend_from("gpu"), Error);
}

TEST_P(EachMatcher, AnEmptyBatchIsFine) {
  const GridSet set = test::random_set(2, 4, 8, 1);
  EXPECT_NO_THROW(make_matcher(GetParam())->score({set.view(), set.view(), {}}, {}, {}));
}

}  // namespace
}  // namespace diml
