// An approximate index under a filter: full lists of admitted items, with exact cosines.

#include <algorithm>

#include "diml/approximate_index.h"
#include "live_candidates.h"
#include "scan.h"
#include "search/filtered_items.h"

#if DIML_HAS_FAISS

namespace diml::test {
namespace {

// An index over the first items; later ones lie beside it.
class FilteredIndex : public Filtered {
 protected:
  LiveCandidates candidates_of(IndexKind kind, std::size_t count) const {
    const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
    const StoredVectors all = snapshot->vectors();
    std::shared_ptr<const CandidateSource> index =
        build_index(kind, {all.globals.data(), count, kDim}, std::span(all.ids).first(count),
                    {snapshot->birth(), snapshot->revision()}, 1);
    return {{std::move(index), snapshot->revision(), {}}, *snapshot, 1};
  }

  // As many are found as there are, all of them admitted, with their exact cosines in order.
  void expect_full_lists(const LiveCandidates& live, const Ids& admitted, std::size_t depth,
                         std::span<const std::int64_t> exclude = {}) const {
    const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
    const std::vector<float> asked(generated_.grids.view().globals,
                                   generated_.grids.view().globals + 20 * kDim);
    const Ranking found =
        live.nearest({{asked.data(), 20, kDim}, depth, exclude, snapshot.get(), admitted});
    for (std::size_t q = 0; q < 20; ++q) {
      const bool left_out =
          !exclude.empty() && std::binary_search(admitted.begin(), admitted.end(), exclude[q]);
      const auto ids = found.ids_of(q);
      const auto count = static_cast<std::size_t>(
          std::count_if(ids.begin(), ids.end(), [](std::int64_t id) { return id >= 0; }));
      ASSERT_EQ(count, std::min(depth, admitted.size() - (left_out ? 1 : 0)));
      std::vector<const float*> vectors;
      for (std::size_t k = 0; k < count; ++k) {
        EXPECT_TRUE(std::binary_search(admitted.begin(), admitted.end(), ids[k]));
        EXPECT_TRUE(exclude.empty() || ids[k] != exclude[q]);
        vectors.push_back(snapshot->global(ids[k]));
      }
      const std::vector<float> exact = cosines({&asked[q * kDim], kDim}, vectors);
      EXPECT_TRUE(std::equal(exact.begin(), exact.end(), found.scores_of(q).begin()));
      EXPECT_TRUE(std::is_sorted(exact.rbegin(), exact.rend()));
    }
  }

  static Ids every(const Ids& ids, std::size_t step) {
    Ids some;
    for (std::size_t i = 0; i < ids.size(); i += step) some.push_back(ids[i]);
    return some;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, FilteredIndex, testing::ValuesIn(store_kinds()), name_of_kind);

TEST_P(FilteredIndex, FindsAsManyAsThereAre) {
  const Ids ids = add_items(0, 3000);
  const LiveCandidates live = candidates_of(IndexKind::hnsw, 3000);
  for (const std::size_t step : {1, 2, 3, 50, 1000}) {
    for (const std::size_t depth : {1, 10, 200}) {
      expect_full_lists(live, every(ids, step), depth);
    }
  }
  expect_full_lists(live, every(ids, 2), 10, Ids(ids.begin(), ids.begin() + 20));
  expect_full_lists(live, every(ids, 300), 10, Ids(ids.begin(), ids.begin() + 20));
  expect_full_lists(live, {}, 10);
}

TEST_P(FilteredIndex, CountsWhatLiesBesideIt) {
  const Ids ids = add_items(0, 2000);
  const LiveCandidates before = candidates_of(IndexKind::hnsw, 2000);
  store_->remove(Ids{ids[4], ids[40]});
  add_items(2000, 50);
  const auto live = before.next(*store_->snapshot());
  const Ids now = store_->snapshot()->ids();
  for (const std::size_t step : {1, 2, 97}) {
    expect_full_lists(*live, every(now, step), 10);
    expect_full_lists(*live, every(now, step), 300);
  }
  const Ids newest(now.end() - 7, now.end());
  expect_full_lists(*live, newest, 10);
}

TEST_P(FilteredIndex, FewAreComparedExactly) {
  const Ids ids = add_items(0, 2000);
  const LiveCandidates live = candidates_of(IndexKind::hnsw, 2000);
  const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
  const LiveCandidates exact(*snapshot, 1);
  const Ids few = every(ids, 20);
  const CandidateRequest request{
      {generated_.grids.view().globals, 20, kDim}, 10, {}, snapshot.get(), few};
  EXPECT_EQ(live.nearest(request).ids, exact.nearest(request).ids);
  EXPECT_EQ(live.nearest(request).scores, exact.nearest(request).scores);
}

TEST_P(FilteredIndex, ManyAreFoundByTheIndexItself) {
  const Ids ids = add_items(0, 3000);
  const StoredVectors all = store_->snapshot()->vectors();
  const auto index = build_index(IndexKind::hnsw, {all.globals.data(), 3000, kDim}, all.ids, {}, 1);
  const Ids half = every(ids, 2);
  const auto exact = make_exact_source({{{all.globals.data(), 3000, kDim}, all.ids}}, 1);
  std::size_t found = 0;
  for (std::size_t q = 0; q < 20; ++q) {
    const std::span<const float> query(&all.globals[q * kDim], kDim);
    std::vector<std::int64_t> near = index->about_nearest(query, 40, half);
    EXPECT_EQ(near.size(), 40u);
    std::sort(near.begin(), near.end());
    EXPECT_TRUE(std::includes(half.begin(), half.end(), near.begin(), near.end()));
    const Ranking wanted = exact->nearest({{query.data(), 1, kDim}, 10, {}, nullptr, half});
    for (const std::int64_t id : wanted.ids) {
      found += std::binary_search(near.begin(), near.end(), id) ? 1 : 0;
    }
  }
  EXPECT_GT(found, 190u);  // of 200
}

TEST_P(FilteredIndex, QuantisedListsAreFilteredToo) {
  const Ids ids = add_items(0, 10'000);
  const LiveCandidates live = candidates_of(IndexKind::ivf_pq, 10'000);
  for (const std::size_t step : {2, 30}) {
    expect_full_lists(live, every(ids, step), 10);
    expect_full_lists(live, every(ids, step), 400);
  }
}

}  // namespace
}  // namespace diml::test

#endif
