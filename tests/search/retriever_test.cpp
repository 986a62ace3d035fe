#include "diml/retriever.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "random_grid.h"

namespace diml {
namespace {

// Four candidates by falling cosine; structurally the last is best.
ScoredRanking hand_made() {
  ScoredRanking scored;
  scored.ranking = Ranking(1, 4);
  scored.ranking.ids = {10, 20, 30, 40};
  scored.ranking.scores = {0.9f, 0.8f, 0.7f, 0.6f};
  scored.head = 4;
  scored.structural = {0.1f, 0.3f, 0.2f, 0.9f};
  return scored;
}

using Ids = std::vector<std::int64_t>;

// The authors' script re-ranks once with the largest K and cuts: 40 would lead for every K.
TEST(Reranked, EveryKUsesItsOwnCandidates) {
  const ScoredRanking scored = hand_made();  // totals 1.0, 1.1, 0.9, 1.5
  EXPECT_EQ(reranked(scored, 0, 0), (Ids{10, 20, 30, 40}));
  EXPECT_EQ(reranked(scored, 0, 1), (Ids{10, 20, 30, 40}));
  EXPECT_EQ(reranked(scored, 0, 2), (Ids{20, 10, 30, 40}));
  EXPECT_EQ(reranked(scored, 0, 3), (Ids{20, 10, 30, 40}));
  EXPECT_EQ(reranked(scored, 0, 4), (Ids{40, 20, 10, 30}));
  EXPECT_THROW(reranked(scored, 0, 5), Error);
}

TEST(Reranked, WeightsSayHowMuchEachSimilarityCounts) {
  const ScoredRanking scored = hand_made();
  EXPECT_EQ(reranked(scored, 0, 4, {1.0f, 0.0f}), (Ids{10, 20, 30, 40}));
  EXPECT_EQ(reranked(scored, 0, 4, {0.0f, 1.0f}), (Ids{40, 20, 30, 10}));
  EXPECT_EQ(reranked(scored, 0, 3, {0.0f, 1.0f}), (Ids{20, 30, 10, 40}));
  EXPECT_EQ(reranked(scored, 0, 4, {1.0f, 0.25f}), (Ids{10, 20, 40, 30}));  // .925 .875 .75 .825
}

// Therefore such a table cannot show the effect of K on P@1.
TEST(Reranked, CutListsBeginAlikeForEveryK) {
  const ScoredRanking scored = hand_made();
  EXPECT_EQ(reranked_and_cut(scored, 0, 0, 4), (Ids{10, 20, 30, 40}));
  // 40 moves to the front and is in the list twice; 10 is displaced and missing.
  EXPECT_EQ(reranked_and_cut(scored, 0, 1, 4), (Ids{40, 20, 30, 40}));
  EXPECT_EQ(reranked_and_cut(scored, 0, 2, 4), (Ids{40, 20, 30, 40}));
  EXPECT_EQ(reranked_and_cut(scored, 0, 4, 4), reranked(scored, 0, 4));
  EXPECT_EQ(reranked_and_cut(scored, 0, 1, 3), (Ids{20, 20, 30, 40}));
  EXPECT_THROW(reranked_and_cut(scored, 0, 1, 5), Error);
}

TEST(Reranked, TiesGoToTheLowerId) {
  ScoredRanking scored = hand_made();
  scored.ranking.ids = {40, 30, 20, 10};
  scored.ranking.scores = {0.75f, 0.5f, 0.25f, 0.0f};
  scored.structural = {0.0f, 0.25f, 0.5f, 0.75f};
  EXPECT_EQ(reranked(scored, 0, 4), (Ids{10, 20, 30, 40}));
}

TEST(Retriever, TheWholeGalleryIsRankedByCosinePlusStructuralSimilarity) {
  const GridSet set = test::random_set(60, 6, 12, 3);
  std::vector<std::int64_t> odd;
  for (std::int64_t id = 1; id < 60; id += 2) odd.push_back(id);
  const std::vector<std::int64_t> asked = {4, 7};
  const Retriever retriever(GridSelection(set.view(), odd), {}, Backend::reference);
  const Ranking found = retriever.structural_candidates({set.view(), asked}, 8, asked);
  ASSERT_EQ(found.depth, 8u);
  for (std::size_t q = 0; q < asked.size(); ++q) {
    const GridView query = set[static_cast<std::size_t>(asked[q])];
    std::vector<std::pair<double, std::int64_t>> expected;
    for (const std::int64_t id : odd) {
      const GridView other = set[static_cast<std::size_t>(id)];
      const double cosine = std::inner_product(query.global, query.global + 12, other.global, 0.0);
      if (id != asked[q])
        expected.push_back(
            {-(cosine + match(query, other, {.transport = {.backend = Backend::reference}}).score),
             id});
    }
    std::sort(expected.begin(), expected.end());
    for (std::size_t k = 0; k < found.depth; ++k) {
      EXPECT_EQ(found.ids_of(q)[k], expected[k].second);
      EXPECT_NEAR(found.scores_of(q)[k], -expected[k].first, 1e-5);
    }
  }
}

TEST(Retriever, HeadIsScoredWithTheQueryAsSourceAndTheTailStays) {
  const GridSet gallery = test::random_set(50, 15, 24, 1);
  const GridSet queries = test::random_set(5, 8, 24, 2);  // another grid than the gallery's
  const Retriever retriever(gallery.view());
  const ScoredRanking scored =
      retriever.match_head(queries.view(), retriever.candidates(queries.view(), 30), 10);
  ASSERT_EQ(scored.ranking.depth, 30u);
  ASSERT_EQ(scored.head, 10u);
  for (std::size_t q = 0; q < 5; ++q) {
    const auto ids = scored.ranking.ids_of(q);
    for (std::size_t k = 0; k < 10; ++k) {
      const double expected = match(queries[q], gallery[static_cast<std::size_t>(ids[k])]).score;
      EXPECT_NEAR(scored.structural[q * 10 + k], expected, 1e-4);
    }
    const Ids order = reranked(scored, q, 10);
    EXPECT_TRUE(std::equal(order.begin() + 10, order.end(), ids.begin() + 10));
    EXPECT_TRUE(std::is_permutation(order.begin(), order.begin() + 10, ids.begin()));
  }
}

TEST(Retriever, AHeadLongerThanTheGalleryIsTheWholeGallery) {
  const GridSet gallery = test::random_set(7, 4, 8, 1);
  const Retriever retriever(gallery.view());
  const ScoredRanking scored =
      retriever.match_head(gallery.view(), retriever.candidates(gallery.view(), 100), 100);
  EXPECT_EQ(scored.head, 7u);
  EXPECT_EQ(reranked(scored, 3, 7).front(), 3);  // nothing is excluded: an image finds itself
}

// The same lists as from a set with only the gallery, with ids of the whole set.
TEST(Retriever, APartOfASetIsAGalleryUnderTheNumbersOfTheSet) {
  const GridSet set = test::random_set(20, 4, 8, 3);
  const Ids ids = {2, 3, 7, 11, 12, 19};
  GridSet alone(ids.size(), 4, 8);
  for (std::size_t place = 0; place < ids.size(); ++place) {
    alone.set(place, test::random_cells(4, 8, 3 * 1000003 + static_cast<std::size_t>(ids[place])));
  }
  const Retriever whole(alone.view());
  const Retriever part(GridSelection(set.view(), ids));
  const Ids asking = {7, 0, 19};
  const GridSelection queries(set.view(), asking);
  for (const bool excluding : {false, true}) {
    const Ids exclude = excluding ? Ids{7, 2, 19} : Ids{};
    const Ids places = excluding ? Ids{2, 0, 5} : Ids{};
    const ScoredRanking expected =
        whole.match_head(queries, whole.candidates(queries, 100, places), 4);
    const ScoredRanking actual =
        part.match_head(queries, part.candidates(queries, 100, exclude), 4);
    EXPECT_EQ(actual.ranking.depth, excluding ? 5u : 6u);
    EXPECT_EQ(actual.ranking.scores, expected.ranking.scores);
    EXPECT_EQ(actual.structural, expected.structural);
    ASSERT_EQ(actual.ranking.ids.size(), expected.ranking.ids.size());
    for (std::size_t k = 0; k < actual.ranking.ids.size(); ++k) {
      EXPECT_EQ(actual.ranking.ids[k], ids[static_cast<std::size_t>(expected.ranking.ids[k])]);
    }
  }
}

TEST(Retriever, RefusesASelectionThatIsNone) {
  const GridSet set = test::random_set(5, 2, 4, 1);
  const auto gallery = [&set](const Ids& ids) { Retriever(GridSelection(set.view(), ids)); };
  EXPECT_NO_THROW(gallery({0, 4}));
  EXPECT_THROW(gallery({0, 5}), Error);
  EXPECT_THROW(gallery({-1, 0}), Error);
  EXPECT_THROW(gallery({1, 0}), Error);  // ties would go to the higher id
  EXPECT_THROW(gallery({1, 1}), Error);
  const Ids beyond = {5};
  EXPECT_THROW(Retriever(set.view()).candidates(GridSelection(set.view(), beyond), 1), Error);
}

}  // namespace
}  // namespace diml
