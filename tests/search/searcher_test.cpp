#include "diml/searcher.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "diml/gallery.h"
#include "diml/retriever.h"
#include "gallery/gallery_folder.h"

#if DIML_HAS_GALLERY
namespace diml::test {
namespace {

class SearcherTest : public GalleryFolder {};

std::vector<std::int64_t> ids_of(const std::vector<Hit>& hits) {
  std::vector<std::int64_t> ids;
  for (const Hit& hit : hits) ids.push_back(hit.item.id);
  return ids;
}

TEST_F(SearcherTest, FindsWhatTheRetrieverFinds) {
  const Searcher search(filled());
  const GridSetView grids = generated_.grids.view();
  std::vector<std::int64_t> themselves(kImages);
  std::iota(themselves.begin(), themselves.end(), 0);
  const std::vector<std::vector<Hit>> found = search.search(grids, 30, themselves, {.rerank = 20});

  const Retriever retriever(grids);
  const ScoredRanking scored =
      retriever.match_head(grids, retriever.candidates(grids, 30, themselves), 20);
  ASSERT_EQ(found.size(), kImages);
  for (std::size_t q = 0; q < kImages; ++q) {
    EXPECT_EQ(ids_of(found[q]), reranked(scored, q, 20));
    for (std::size_t k = 0; k < 30; ++k) {
      const Hit& hit = found[q][k];
      EXPECT_EQ(hit.structural.has_value(), k < 20);
      EXPECT_EQ(hit.total, hit.global + hit.structural.value_or(0.0F));
      EXPECT_EQ(hit.item.path, "images/" + std::to_string(hit.item.id) + ".jpg");
      EXPECT_EQ(hit.item.label,
                label_word(generated_.labels[static_cast<std::size_t>(hit.item.id)]));
      const auto ranked = scored.ranking.ids_of(q);
      const auto place = static_cast<std::size_t>(
          std::find(ranked.begin(), ranked.end(), hit.item.id) - ranked.begin());
      EXPECT_EQ(hit.global, scored.ranking.scores_of(q)[place]);
      if (k < 20) {
        EXPECT_EQ(hit.structural, scored.structural[q * 20 + place]);
      }
    }
  }
}

TEST_F(SearcherTest, ANewLabelIsSeenByTheNextSearch) {
  const std::shared_ptr<GridStore> gallery = filled();
  const Searcher search(gallery);
  const std::vector<Hit> before = search.search(some(8, 1), 10)[0];
  const std::vector<ItemUpdate> update = {{.id = 8, .label = "pug", .metadata = "{\"a\": 2}"}};
  gallery->update(update);
  const std::vector<Hit> after = search.search(some(8, 1), 10)[0];
  EXPECT_EQ(ids_of(after), ids_of(before));
  EXPECT_EQ(after[0].item.label, "pug");
  EXPECT_EQ(after[0].item.metadata, "{\"a\":2}");
  EXPECT_EQ(after[0].total, before[0].total);
  EXPECT_EQ(search.size(), kImages);
}

TEST_F(SearcherTest, AnImageOfTheGalleryFindsItselfUnlessExcluded) {
  const Searcher search(filled());
  EXPECT_EQ(search.search(some(8, 1), 1)[0][0].item.id, 8);
  EXPECT_NEAR(search.search(some(8, 1), 1)[0][0].global, 1.0, 1e-5);
  const std::vector<std::int64_t> itself = {8};
  const std::vector<Hit> hits = search.search(some(8, 1), 100, itself)[0];
  EXPECT_EQ(hits.size(), kImages - 1);
  const std::vector<std::int64_t> ids = ids_of(hits);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 8), 0);
}

TEST_F(SearcherTest, EachHitKnowsItsPlaceBeforeReRanking) {
  const Searcher search(filled());
  const std::vector<Hit> plain = search.search(some(4, 1), 30, {}, {.rerank = 0})[0];
  for (std::size_t k = 0; k < plain.size(); ++k) {
    EXPECT_EQ(plain[k].first_rank, k + 1);
    EXPECT_FALSE(plain[k].structural.has_value());
  }
  const std::vector<Hit> hits = search.search(some(4, 1), 30, {}, {.rerank = 30})[0];
  EXPECT_NE(ids_of(hits), ids_of(plain));
  for (const Hit& hit : hits) EXPECT_EQ(plain[hit.first_rank - 1].item.id, hit.item.id);
}

TEST_F(SearcherTest, ReRanksWhatOthersFoundAsItsOwnSearchDoes) {
  const Searcher search(filled());
  const std::vector<Hit> own = search.search(some(7, 1), 20, {}, {.rerank = 20})[0];
  std::vector<std::int64_t> given = ids_of(own);
  std::sort(given.begin(), given.end());
  const std::vector<Hit> again = search.rerank(some(7, 1), given, {});
  EXPECT_EQ(ids_of(again), ids_of(own));
  for (std::size_t k = 0; k < own.size(); ++k) {
    EXPECT_EQ(again[k].global, own[k].global);
    EXPECT_EQ(again[k].total, own[k].total);
    EXPECT_EQ(again[k].structural, own[k].structural);
    EXPECT_EQ(given[again[k].first_rank - 1], again[k].item.id);
  }
  const std::vector<std::int64_t> unknown = {3, 9999};
  expect_refused([&] { (void)search.rerank(some(7, 1), unknown, {}); }, "has no item 9999");
}

TEST_F(SearcherTest, WeightsOfTheTwoSimilaritiesSetTheOrder) {
  const Searcher search(filled());
  const auto order = [&](ScoreWeights weights) {
    return search.search(some(7, 1), 20, {}, {.rerank = 20, .weights = weights})[0];
  };
  const std::vector<Hit> sum = order({});
  EXPECT_EQ(ids_of(order({3.0F, 3.0F})), ids_of(sum));
  const std::vector<Hit> plain = search.search(some(7, 1), 20, {}, {.rerank = 0})[0];
  EXPECT_EQ(ids_of(order({1.0F, 0.0F})), ids_of(plain));
  const std::vector<Hit> structural = order({0.0F, 1.0F});
  EXPECT_NE(ids_of(structural), ids_of(sum));
  for (std::size_t k = 0; k < structural.size(); ++k) {
    EXPECT_EQ(structural[k].total, *structural[k].structural);
    EXPECT_LE(structural[k].total, structural[k - std::min<std::size_t>(k, 1)].total);
  }
  const std::vector<std::int64_t> given = ids_of(plain);
  EXPECT_EQ(ids_of(search.rerank(some(7, 1), given, {.weights = {0.0F, 1.0F}})),
            ids_of(structural));
  for (const ScoreWeights none : {ScoreWeights{0.0F, 0.0F}, {-1.0F, 2.0F}, {1.0F, NAN}}) {
    expect_refused([&] { order(none); }, "weights of the two similarities");
  }
}

TEST_F(SearcherTest, AnEmptyGalleryHasNoHits) {
  const Searcher search(create_gallery(folder_ / "g", format()));
  EXPECT_TRUE(search.search(some(0, 2), 10)[1].empty());
}

TEST_F(SearcherTest, RefusesQueriesOfAnotherGrid) {
  const Searcher search(filled());
  const GeneratedGrids other = generate_grids({.size = 1, .classes = 1, .grid = 7, .dim = kDim});
  expect_refused([&] { (void)search.search(other.grids.view(), 10); },
                 "the gallery has grids of 3 x 3 x 24, the query of 7 x 7 x 24: embed it with "
                 "grid 3 and the gallery's model, somewhere/small.safetensors");
}

TEST_F(SearcherTest, ASearchSeesEveryChangeBeforeIt) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  add(*gallery, 0, 50);
  const Searcher search(gallery);
  const std::vector<std::int64_t> first = ids_of(search.search(some(3, 1), 2)[0]);
  EXPECT_EQ(first[0], 3);
  gallery->remove(std::vector<std::int64_t>{3});
  EXPECT_EQ(search.search(some(3, 1), 2)[0][0].item.id, first[1]);
  EXPECT_NE(search.search(some(55, 1), 1)[0][0].item.id, 50);
  add(*gallery, 50, 10);
  EXPECT_EQ(search.search(some(55, 1), 1)[0][0].item.id, 55);
  EXPECT_EQ(search.size(), 59u);
  add(*gallery, 3, 1);
  EXPECT_TRUE(search.refresh());
  EXPECT_FALSE(search.refresh());
  EXPECT_EQ(search.search(some(3, 1), 1)[0][0].item.id, 60);
}

TEST_F(SearcherTest, RanksGridsThatLieElsewhereAsItsOwn) {
  const Searcher search(filled());
  const std::vector<Hit> own = search.search(some(7, 1), kImages, {}, {.rerank = kImages})[0];
  const std::vector<Hit> others = rank_grids(search.matcher(), some(7, 1), generated_.grids.view());
  ASSERT_EQ(others.size(), own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    EXPECT_EQ(others[k].item.id, own[k].item.id);  // ids are places here
    EXPECT_EQ(others[k].total, own[k].total);
  }
}

TEST_F(SearcherTest, NamesItsSources) {
  const std::vector<std::string> names = candidate_sources();
  EXPECT_EQ(std::count(names.begin(), names.end(), "exact"), 1);
  expect_refused([&] { Searcher(filled(), {.source = "oracle"}); },
                 "there is no source of candidates 'oracle' in this build: exact, index");
}

TEST_F(SearcherTest, SearchesWhileOthersAddAndRemove) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  add(*gallery, 0, 30);
  Searcher search(gallery, {.threads = 1});
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> searches = 0;
  std::vector<std::thread> searchers;
  for (std::size_t s = 0; s < 3; ++s) {
    searchers.emplace_back([&, s] {
      while (!done) {
        // Images 0 to 29 stay: each finds itself, whatever happens to the others.
        const std::size_t query = (static_cast<std::size_t>(searches++) + s) % 30;
        const auto hits = search.search(some(query, 1), 5);
        if (hits[0].size() != 5 || hits[0][0].item.id != static_cast<std::int64_t>(query)) ++wrong;
      }
    });
  }
  for (int round = 0; round < 40 || searches < 200; ++round) {
    gallery->remove(add(*gallery, 30, 30));
  }
  done = true;
  for (std::thread& searcher : searchers) searcher.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace diml::test
#endif
