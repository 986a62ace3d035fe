// Incremental updates give the same lists as a new source.

#include "live_candidates.h"

#include <random>

#include "diml/approximate_index.h"
#include "diml/searcher.h"
#include "search/stores.h"

namespace diml::test {
namespace {

using Ids = std::vector<std::int64_t>;

class Live : public WithStore {
 protected:
  VectorsView queries() const { return {generated_.grids.view().globals, 20, kDim}; }

  void expect_alike(const LiveCandidates& live, const LiveCandidates& fresh) const {
    const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
    ASSERT_EQ(live.revision(), snapshot->revision());
    ASSERT_EQ(live.size(), snapshot->size());
    for (const std::size_t depth : {std::size_t{1}, std::size_t{10}, 2 * kImages}) {
      const CandidateRequest request{queries(), depth, {}, snapshot.get()};
      const Ranking found = live.nearest(request);
      const Ranking wanted = fresh.nearest(request);
      ASSERT_EQ(found.depth, wanted.depth);
      EXPECT_EQ(found.ids, wanted.ids);
      EXPECT_EQ(found.scores, wanted.scores);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Live, testing::ValuesIn(store_kinds()), name_of_kind);

TEST_P(Live, ManySmallChangesGiveTheListsOfAFreshStart) {
  add(0, 50);
  auto live = std::make_shared<const LiveCandidates>(*store_->snapshot(), 1);
  std::mt19937 random(1);
  std::size_t next = 50;
  for (int round = 0; round < 60; ++round) {
    if (random() % 3 == 0) {
      const Ids ids = store_->snapshot()->ids();
      Ids gone;
      for (std::size_t k = 0; k < 3; ++k) gone.push_back(ids[random() % ids.size()]);
      store_->remove(gone);
    } else {
      const std::size_t count = 1 + random() % 7;
      add(next, count);
      next += count;
    }
    if (round % 2 == 0) continue;  // two changes at a time
    live = live->next(*store_->snapshot());
    ASSERT_NE(live, nullptr);
    expect_alike(*live, LiveCandidates(*store_->snapshot(), 1));
  }
}

TEST_P(Live, ABaseWithChangesGivesTheListsOfAnExactStart) {
  add(0, 200);
  const auto all = std::make_shared<const StoredVectors>(store_->snapshot()->vectors());
  const std::shared_ptr<const CandidateSource> source =
      make_exact_source({{{all->globals.data(), 200, kDim}, all->ids}}, 1);
  const BaseSource base{source, store_->snapshot()->revision(), all};
  auto live = std::make_shared<const LiveCandidates>(base, *store_->snapshot(), 1);
  EXPECT_EQ(live->beside_base(), 0u);
  add(200, 30);
  store_->remove(Ids{0, 3, 17, 201});
  live = live->next(*store_->snapshot());
  EXPECT_EQ(live->beside_base(), 3u + 29u);
  expect_alike(*live, LiveCandidates(*store_->snapshot(), 1));
  store_->remove(Ids{4, 229});
  live = live->next(*store_->snapshot());
  expect_alike(*live, LiveCandidates(*store_->snapshot(), 1));
  // A process that starts now with the same base finds the same.
  expect_alike(*live, LiveCandidates(base, *store_->snapshot(), 1));
}

TEST_P(Live, AnExcludedIdIsLeftOutWhereverItLies) {
  add(0, 40);
  const auto all = std::make_shared<const StoredVectors>(store_->snapshot()->vectors());
  const BaseSource base{make_exact_source({{{all->globals.data(), 40, kDim}, all->ids}}, 1),
                        store_->snapshot()->revision(), all};
  add(40, 5);
  const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
  const LiveCandidates live(base, *snapshot, 1);
  const Ids exclude = {3, 42};
  const Ranking found =
      live.nearest({{generated_.grids.view().globals, 2, kDim}, 1000, exclude, snapshot.get()});
  for (std::size_t q = 0; q < 2; ++q) {
    const auto ids = found.ids_of(q);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), exclude[q]), 0);
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](std::int64_t id) { return id >= 0; }), 44);
  }
}

// A store that forwards to another one and counts reads.
struct Counted {
  std::size_t visited = 0;
};

class CountingSnapshot final : public GridSnapshot {
 public:
  CountingSnapshot(std::unique_ptr<GridSnapshot> inner, Counted& counted)
      : inner_(std::move(inner)), counted_(counted) {}
  const GridFormat& format() const override { return inner_->format(); }
  std::uint64_t revision() const override { return inner_->revision(); }
  std::uint64_t birth() const override { return inner_->birth(); }
  std::size_t size() const override { return inner_->size(); }
  bool contains(std::int64_t id) const override { return inner_->contains(id); }
  std::optional<std::int64_t> find(const std::string& path) const override {
    return inner_->find(path);
  }
  Item item(std::int64_t id) const override { return inner_->item(id); }
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const override {
    return inner_->thumbnail(id);
  }
  GridView grid(std::int64_t id) const override { return inner_->grid(id); }
  const float* global(std::int64_t id) const override { return inner_->global(id); }
  void visit(std::int64_t first, const Visitor& visitor) const override {
    inner_->visit(first, [&](std::int64_t id, std::string_view label, const void* global) {
      ++counted_.visited;
      return visitor(id, label, global);
    });
  }
  std::optional<StoreChanges> changes_since(std::uint64_t revision) const override {
    return inner_->changes_since(revision);
  }
  StoreFaults verify(const Progress& progress) const override { return inner_->verify(progress); }

 private:
  std::unique_ptr<GridSnapshot> inner_;
  Counted& counted_;
};

class CountingStore final : public GridStore {
 public:
  CountingStore(std::shared_ptr<GridStore> inner, Counted& counted)
      : inner_(std::move(inner)), counted_(counted) {}
  const std::string& name() const override { return inner_->name(); }
  const GridFormat& format() const override { return inner_->format(); }
  std::unique_ptr<GridSnapshot> snapshot() const override {
    return std::make_unique<CountingSnapshot>(inner_->snapshot(), counted_);
  }
  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override {
    return inner_->add(items, grids, duplicates);
  }
  void update(std::span<const ItemUpdate> updates) override { inner_->update(updates); }
  void remove(std::span<const std::int64_t> ids) override { inner_->remove(ids); }
  Space space() const override { return inner_->space(); }

 private:
  std::shared_ptr<GridStore> inner_;
  Counted& counted_;
};

TEST_P(Live, TakingInAChangeReadsTheChangeAlone) {
  Counted counted;
  add(0, 200);
  const Searcher searcher(std::make_shared<CountingStore>(store_, counted));
  EXPECT_EQ(counted.visited, 200u);
  add(200, 2);
  const GridView query = grid(201);
  EXPECT_EQ(searcher.search(set_of({&query, 1}), 1)[0][0].item.id, 201);
  EXPECT_EQ(counted.visited, 202u);
  store_->remove(Ids{201, 7});
  EXPECT_NE(searcher.search(set_of({&query, 1}), 1)[0][0].item.id, 201);
  EXPECT_EQ(searcher.size(), 200u);
  EXPECT_EQ(counted.visited, 202u);
}

}  // namespace
}  // namespace diml::test
