// A GPU finds the same as the CPU. Skipped if there is no GPU.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "diml/retriever.h"
#include "match/match_on_device.h"
#include "random_grid.h"

namespace diml {
namespace {

class CudaRetrieval : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << cuda::describe_device();
  }
};

// The reference of the comparison.
Backend other() { return fastest_of_one_pair(); }

// The same scores, and the same ids wherever rounding cannot change the order.
void expect_alike(const Ranking& found, const Ranking& expected, float tolerance) {
  ASSERT_EQ(found.queries, expected.queries);
  ASSERT_EQ(found.depth, expected.depth);
  for (std::size_t q = 0; q < found.queries; ++q) {
    const auto scores = expected.scores_of(q);
    std::set<std::int64_t> seen;
    for (std::size_t k = 0; k < found.depth; ++k) {
      ASSERT_NEAR(found.scores_of(q)[k], scores[k], tolerance) << "query " << q << ", place " << k;
      ASSERT_TRUE(seen.insert(found.ids_of(q)[k]).second) << "query " << q << ", place " << k;
      const bool above = k == 0 || scores[k - 1] - scores[k] > 2 * tolerance;
      const bool below = k + 1 < found.depth && scores[k] - scores[k + 1] > 2 * tolerance;
      if (above && below) {
        ASSERT_EQ(found.ids_of(q)[k], expected.ids_of(q)[k]) << "query " << q << ", place " << k;
      }
    }
  }
}

TEST_F(CudaRetrieval, TheFirstStageFindsWhatTheCpuFinds) {
  for (const std::size_t dim : {std::size_t{3}, std::size_t{128}, std::size_t{200}}) {
    for (const std::size_t size : {std::size_t{5}, std::size_t{64}, std::size_t{9001}}) {
      const GridSet gallery = test::random_set(size, 1, dim, 1);
      for (const std::size_t asked : {std::size_t{1}, std::size_t{17}, std::size_t{300}}) {
        const GridSet queries = test::random_set(asked, 1, dim, 2);
        for (const std::size_t depth : {std::size_t{1}, std::size_t{100}, std::size_t{1000}}) {
          expect_alike(
              Retriever(gallery.view(), {}, Backend::cuda).candidates(queries.view(), depth),
              Retriever(gallery.view(), {}, other()).candidates(queries.view(), depth), 2e-6f);
        }
      }
    }
  }
}

TEST_F(CudaRetrieval, AnExcludedIdIsNotFoundAndAPartOfASetIsAGallery) {
  const GridSet set = test::random_set(700, 4, 20, 3);
  std::vector<std::int64_t> own(set.size());
  std::vector<std::int64_t> odd;
  for (std::size_t k = 0; k < own.size(); ++k) {
    own[k] = static_cast<std::int64_t>(k);
    if (k % 2 == 1) odd.push_back(own[k]);
  }
  const GridSelection part(set.view(), odd);
  for (const GridSelection& gallery : {GridSelection(set.view()), part}) {
    const Retriever cuda(gallery, {}, Backend::cuda);
    const Retriever cpu(gallery, {}, other());
    expect_alike(cuda.candidates(set.view(), 40, own), cpu.candidates(set.view(), 40, own), 2e-6f);
    const Ranking found = cuda.candidates(set.view(), 40, own);
    for (std::size_t q = 0; q < found.queries; ++q) {
      for (const std::int64_t id : found.ids_of(q)) ASSERT_NE(id, own[q]);
    }
  }
}

TEST_F(CudaRetrieval, RankingTheWholeGalleryStructurallyIsWhatTheCpuRanks) {
  MatchParams params;
  params.transport.tolerance = 1e-6;
  for (const std::size_t cells : {std::size_t{16}, std::size_t{49}, std::size_t{9}}) {
    const GridSet set = test::random_set(150, cells, 128, 4);
    std::vector<std::int64_t> own(set.size());
    std::vector<std::int64_t> odd;
    for (std::size_t k = 0; k < own.size(); ++k) {
      own[k] = static_cast<std::int64_t>(k);
      if (k % 2 == 1) odd.push_back(own[k]);
    }
    const GridSelection part(set.view(), odd);
    for (const GridSelection& gallery : {GridSelection(set.view()), part}) {
      expect_alike(
          Retriever(gallery, params, Backend::cuda).structural_candidates(set.view(), 30, own),
          Retriever(gallery, params, other()).structural_candidates(set.view(), 30, own), 2e-5f);
    }
  }
}

TEST_F(CudaRetrieval, AQuerysListIsBitEqualWhateverElseIsAsked) {
  const GridSet set = test::random_set(5000, 1, 128, 5);
  const Retriever retriever(set.view(), {}, Backend::cuda);
  const Ranking together = retriever.candidates(set.view(), 50);
  for (const std::int64_t id : {std::int64_t{0}, std::int64_t{77}, std::int64_t{4999}}) {
    const Ranking alone = retriever.candidates(GridSelection(set.view(), std::span(&id, 1)), 50);
    const auto ids = together.ids_of(static_cast<std::size_t>(id));
    const auto scores = together.scores_of(static_cast<std::size_t>(id));
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), alone.ids.begin()));
    EXPECT_TRUE(std::equal(scores.begin(), scores.end(), alone.scores.begin()));
  }
}

TEST_F(CudaRetrieval, KeptGridsScoreAsOthersDo) {
  const GridSet sources = test::random_set(20, 16, 128, 6);
  const GridSet targets = test::random_set(300, 16, 128, 7);
  std::vector<Pair> pairs;
  for (std::int64_t k = 0; k < 900; ++k) pairs.push_back({k % 20, k * 7 % 300});
  const auto matcher = make_matcher(Backend::cuda);
  std::vector<float> expected(pairs.size());
  std::vector<float> scores(pairs.size());
  const PairBatch batch{sources.view(), targets.view(), pairs};
  matcher->score(batch, {}, expected);
  const auto kept = matcher->keep(targets.view());
  matcher->score(batch, {}, scores);
  EXPECT_EQ(scores, expected);
}

}  // namespace
}  // namespace diml
