#include <chrono>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "diml/matcher.h"
#include "random_grid.h"

namespace diml {
namespace {

class Cancelled : public testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(Of, Cancelled,
                         testing::Values(Backend::reference, Backend::cpu, Backend::exact),
                         [](const auto& tested) { return name_of(tested.param); });

Progress ended_after(int looks) {
  return Progress().with([looks]() mutable { return looks-- <= 0; });
}

TEST_P(Cancelled, MatchingStopsBetweenBlocksAndSaysSo) {
  if (!is_available(GetParam())) GTEST_SKIP() << "built without " << name_of(GetParam());
  const GridSet grids = test::random_set(200, 16, 12, 1);
  std::vector<Pair> pairs;
  for (std::int64_t k = 0; k < 20'000; ++k) pairs.push_back({k % 200, (k * 7) % 200});
  std::vector<float> scores(pairs.size());
  std::vector<float> plans(256 * pairs.size());
  for (const int threads : {1, 2}) {
    const auto matcher = make_matcher(GetParam(), {threads});
    const PairBatch batch{grids.view(), grids.view(), pairs};
    for (const int looks : {0, 3}) {
      test::expect_refused(
          [&] { matcher->score(batch, {}, scores, {}, Quantity::similarity, ended_after(looks)); },
          "cancelled", ErrorKind::cancelled);
      test::expect_refused(
          [&] { matcher->plans(batch, {}, scores, plans, {}, ended_after(looks)); }, "cancelled",
          ErrorKind::cancelled);
    }
  }
}

TEST_P(Cancelled, APatientCallerGetsTheSameScores) {
  if (!is_available(GetParam())) GTEST_SKIP() << "built without " << name_of(GetParam());
  const GridSet grids = test::random_set(30, 9, 12, 1);
  std::vector<Pair> pairs;
  for (std::int64_t k = 0; k < 300; ++k) pairs.push_back({k % 30, (k * 7) % 30});
  const auto matcher = make_matcher(GetParam());
  std::vector<float> alone(pairs.size());
  std::vector<float> watched(pairs.size());
  matcher->score({grids.view(), grids.view(), pairs}, {}, alone);
  matcher->score({grids.view(), grids.view(), pairs}, {}, watched, {}, Quantity::similarity,
                 Progress().with([] { return false; }));
  EXPECT_EQ(alone, watched);
}

// However long the batch is, a cancelled caller waits for a block of pairs.
TEST(CancelledMatching, TakesNoLongerThanABlock) {
  const GridSet grids = test::random_set(64, 49, 32, 1);
  std::vector<Pair> pairs;
  for (std::int64_t k = 0; k < 4096; ++k) pairs.push_back({k % 64, k / 64});
  MatchParams params;
  params.transport.lambda = 0.001;
  params.transport.tolerance = 1e-300;  // every pair takes all iterations
  std::vector<float> scores(pairs.size());
  const auto start = std::chrono::steady_clock::now();
  const auto late = [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(100);
  };
  test::expect_refused(
      [&] {
        make_matcher()->score({grids.view(), grids.view(), pairs}, params, scores, {},
                              Quantity::similarity, Progress().with(late));
      },
      "cancelled");
  // The whole batch takes minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace diml
