// A filter comes before the first stage: a search finds what a store of the admitted items finds.

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "admitted_items.h"
#include "search/filtered_items.h"

namespace diml::test {
namespace {

Filter filter_of(const std::vector<std::string>& conditions) { return Filter(conditions); }

INSTANTIATE_TEST_SUITE_P(Kinds, Filtered, testing::ValuesIn(store_kinds()), name_of_kind);

TEST_P(Filtered, AnExactSearchFindsWhatAStoreOfTheAdmittedItemsFindsToTheBit) {
  add_items(0, kImages);
  const Searcher all(store_, {.threads = 2});
  for (const std::vector<std::string>& conditions :
       std::vector<std::vector<std::string>>{{"label=3"},
                                             {"label in 3,4,17"},
                                             {"price<=2"},
                                             {"price>=1", "at.room=hall"},
                                             {"at.room!=hall"},
                                             {"price exists"},
                                             {"price=5", "label!=0"}}) {
    const Filter filter(conditions);
    const Searcher alone(admitted_alone(filter));
    ASSERT_GT(alone.size(), 0u);
    EXPECT_EQ(all.admitted(filter)->size(), alone.size());
    for (const std::size_t rerank : {0, 4, 500}) {
      for (const std::size_t count : {1, 70}) {
        expect_same_hits(all.search(queries(count), 12, {}, {.rerank = rerank}, filter),
                         alone.search(queries(count), 12, {}, {.rerank = rerank}));
      }
    }
  }
}

TEST_P(Filtered, ManyItemsOnSeveralThreadsGiveTheSameAsOne) {
  constexpr std::size_t kMany = 5000;  // several parts, and more than the best that are kept
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> vectors(kMany * kDim);
  for (float& value : vectors) value = normal(random);
  Ids ids(kMany);
  std::iota(ids.begin(), ids.end(), std::int64_t{10});
  Ids some;
  std::vector<float> of_some;
  for (std::size_t i = 0; i < kMany; ++i) {
    if (random() % 3 == 0) continue;
    some.push_back(ids[i]);
    of_some.insert(of_some.end(), &vectors[i * kDim], &vectors[(i + 1) * kDim]);
  }
  const auto all = make_exact_source({{{vectors.data(), kMany, kDim}, ids}}, 2);
  const auto alone = make_exact_source({{{of_some.data(), some.size(), kDim}, some}}, 1);
  for (const std::size_t depth : {std::size_t{1}, std::size_t{30}, kMany}) {
    CandidateRequest request{{vectors.data(), 3, kDim}, depth, {}, nullptr};
    const Ranking wanted = alone->nearest(request);
    request.admitted = some;
    const Ranking found = all->nearest(request);
    EXPECT_EQ(found.depth, wanted.depth);
    EXPECT_EQ(found.ids, wanted.ids);
    EXPECT_EQ(found.scores, wanted.scores);
  }
}

TEST_P(Filtered, AQueryLeavesItselfOut) {
  const Ids ids = add_items(0, 60);
  const Searcher search(store_);
  const Filter filter = filter_of({"price=3"});  // 3, 10, 17 and so on: 9 of 60
  const GridView own = grid(10);
  const Ids exclude = {ids[10]};
  const auto hits = search.search(set_of({&own, 1}), 100, exclude, {}, filter)[0];
  EXPECT_EQ(hits.size(), 8u);
  for (const Hit& hit : hits) {
    EXPECT_NE(hit.item.id, ids[10]);
    EXPECT_EQ(std::stoi(hit.item.path) % 7, 3);
  }
}

TEST_P(Filtered, AFilterThatAdmitsNothingGivesEmptyLists) {
  add_items(0, 20);
  const Searcher search(store_);
  const Filter filter = filter_of({"price=77"});
  EXPECT_TRUE(search.admitted(filter)->empty());
  const auto found = search.search(queries(3), 10, {}, {}, filter);
  ASSERT_EQ(found.size(), 3u);
  for (const std::vector<Hit>& hits : found) EXPECT_TRUE(hits.empty());
}

TEST_P(Filtered, ASearchSeesEveryChangeBeforeIt) {
  const Ids ids = add_items(0, 40);
  const Searcher search(store_);
  const Filter filter = filter_of({"price in 1,2"});
  const auto expect_as_alone = [&] {
    expect_same_hits(search.search(queries(5), 10, {}, {.rerank = 5}, filter),
                     Searcher(admitted_alone(filter)).search(queries(5), 10, {}, {.rerank = 5}));
  };
  expect_as_alone();
  store_->remove(Ids{ids[1], ids[2], ids[5]});
  expect_as_alone();
  add_items(40, 30);
  expect_as_alone();
  add_items(100, 3);
  store_->remove(Ids{ids[8], ids[9]});
  expect_as_alone();
}

// Forwards to another snapshot and counts the items that are read.
class CountingSnapshot final : public GridSnapshot {
 public:
  CountingSnapshot(std::unique_ptr<GridSnapshot> inner, std::size_t& read)
      : inner_(std::move(inner)), read_(read) {}
  const GridFormat& format() const override { return inner_->format(); }
  std::uint64_t revision() const override { return inner_->revision(); }
  std::uint64_t birth() const override { return inner_->birth(); }
  std::size_t size() const override { return inner_->size(); }
  bool contains(std::int64_t id) const override { return inner_->contains(id); }
  std::optional<std::int64_t> find(const std::string& path) const override {
    return inner_->find(path);
  }
  Item item(std::int64_t id) const override {
    ++read_;
    return inner_->item(id);
  }
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const override {
    return inner_->thumbnail(id);
  }
  GridView grid(std::int64_t id) const override { return inner_->grid(id); }
  const float* global(std::int64_t id) const override { return inner_->global(id); }
  void visit(std::int64_t first, const Visitor& visitor) const override {
    inner_->visit(first, visitor);
  }
  std::optional<StoreChanges> changes_since(std::uint64_t revision) const override {
    return inner_->changes_since(revision);
  }
  StoreFaults verify(const Progress& progress) const override { return inner_->verify(progress); }

 private:
  std::unique_ptr<GridSnapshot> inner_;
  std::size_t& read_;
};

TEST_P(Filtered, MetadataIsReadOnceAndThenWhatChanged) {
  const Ids ids = add_items(0, 100);
  AdmittedItems kept;
  std::size_t read = 0;
  const auto admitted = [&](const Filter& filter) {
    return kept.of(filter, CountingSnapshot(store_->snapshot(), read))->size();
  };
  const Filter filter = filter_of({"price=0"});
  EXPECT_EQ(admitted(filter), 15u);
  EXPECT_EQ(read, 100u);
  EXPECT_EQ(admitted(filter), 15u);
  EXPECT_EQ(read, 100u);
  add_items(105, 3);  // 105 is one more
  store_->remove(Ids{ids[0], ids[1]});
  EXPECT_EQ(admitted(filter), 15u);
  EXPECT_EQ(read, 103u);
  // A label costs no item, and comes before what does.
  EXPECT_EQ(
      admitted(filter_of({"label in 1,2"})), 101u - [&] {
        return kept.of(filter_of({"label!=1", "label!=2"}), *store_->snapshot())->size();
      }());
  EXPECT_EQ(read, 103u);
  const std::size_t of_label = admitted(filter_of({"label=1"}));
  admitted(filter_of({"price=0", "label=1"}));
  EXPECT_EQ(read, 103u + of_label);
}

TEST_P(Filtered, ANewLabelOrNewMetadataCountsAtOnceAndCostsTheItemAlone) {
  const Ids ids = add_items(0, 100);
  AdmittedItems kept;
  std::size_t read = 0;
  const auto admitted = [&](const Filter& filter) {
    return *kept.of(filter, CountingSnapshot(store_->snapshot(), read));
  };
  const Filter cheap = filter_of({"price=0"});
  const Filter pugs = filter_of({"label=pug"});
  const Ids before = admitted(cheap);
  EXPECT_TRUE(admitted(pugs).empty());
  EXPECT_EQ(read, 100u);
  // 0 is cheap no more, 1 becomes cheap, and 2 gets a label.
  const std::vector<ItemUpdate> updates = {
      {.id = ids[0], .metadata = R"({"price": 9})"},
      {.id = ids[1], .label = "pug", .metadata = R"({"price": 0})"},
      {.id = ids[2], .label = "pug"}};
  store_->update(updates);
  Ids wanted = before;
  wanted.front() = ids[1];
  EXPECT_EQ(admitted(cheap), wanted);
  EXPECT_EQ(admitted(pugs), (Ids{ids[1], ids[2]}));
  EXPECT_EQ(read, 106u);
  // An update, a removal and an addition between two questions.
  const std::vector<ItemUpdate> back = {{.id = ids[2], .label = ""}};
  store_->update(back);
  store_->remove(Ids{ids[1]});
  add_items(105, 1);
  EXPECT_TRUE(admitted(pugs).empty());
  wanted.erase(wanted.begin());
  wanted.push_back(store_->snapshot()->ids().back());
  EXPECT_EQ(admitted(cheap), wanted);
}

TEST_P(Filtered, ASearchFollowsUpdates) {
  const Ids ids = add_items(0, 40);
  const Searcher search(store_);
  const Filter pugs = filter_of({"label=pug"});
  EXPECT_TRUE(search.search(queries(1), 10, {}, {}, pugs)[0].empty());
  const std::vector<ItemUpdate> updates = {{.id = ids[7], .label = "pug"}};
  store_->update(updates);
  const auto hits = search.search(queries(1), 10, {}, {}, pugs)[0];
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].item.id, ids[7]);
}

TEST_P(Filtered, ALabelWithSignsInItIsTakenAsItIs) {
  add_items(0, 3);
  const Ids ids = store_->snapshot()->ids();
  const std::vector<ItemUpdate> updates = {{.id = ids[0], .label = " a=b "},
                                           {.id = ids[1], .label = ""},
                                           {.id = ids[2], .label = "a=b"}};
  store_->update(updates);
  const Searcher search(store_);
  EXPECT_EQ(*search.admitted(Filter().with_label(" a=b ")), Ids{ids[0]});
  EXPECT_EQ(*search.admitted(Filter().with_label("")), Ids{ids[1]});
  EXPECT_EQ(*search.admitted(filter_of({"label= a=b "})), Ids{ids[2]});
}

TEST_P(Filtered, TheLatestFiltersAreKept) {
  add_items(0, 10);
  AdmittedItems kept;
  std::size_t read = 0;
  const auto ask = [&](int price) {
    return kept.of(filter_of({"price=" + std::to_string(price)}),
                   CountingSnapshot(store_->snapshot(), read));
  };
  for (int price = 0; price < 16; ++price) (void)ask(price);
  EXPECT_EQ(read, 160u);
  (void)ask(0);  // is the latest now
  (void)ask(16);
  EXPECT_EQ(read, 170u);
  (void)ask(0);
  EXPECT_EQ(read, 170u);
  (void)ask(1);  // made room
  EXPECT_EQ(read, 180u);
}

TEST_P(Filtered, AListThatIsPastASnapshotIsNotTakenForIt) {
  add_items(0, 10);
  AdmittedItems kept;
  const Filter filter = filter_of({"price=3"});
  const std::unique_ptr<GridSnapshot> older = store_->snapshot();
  add_items(10, 1);
  EXPECT_EQ(kept.of(filter, *store_->snapshot())->size(), 2u);
  EXPECT_EQ(kept.of(filter, *older), nullptr);
}

TEST_P(Filtered, SearchesWhileOthersAddAndRemove) {
  add_items(0, 28);  // four of each price
  const Searcher search(store_, {.threads = 1});
  const Filter filter = filter_of({"price=3", "at.room exists"});
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> searches = 0;
  std::vector<std::thread> searchers;
  for (int s = 0; s < 3; ++s) {
    searchers.emplace_back([&] {
      const GridView query = grid(10);
      while (!done) {
        const auto hits = search.search(set_of({&query, 1}), 50, {}, {.rerank = 2}, filter)[0];
        if (hits.empty() || hits[0].item.path != "10" || hits.size() < 4) ++wrong;
        for (const Hit& hit : hits) wrong += std::stoi(hit.item.path) % 7 == 3 ? 0 : 1;
        ++searches;
      }
    });
  }
  for (int round = 0; round < 30 || searches < 100; ++round) {
    store_->remove(add_items(28, 14));
  }
  done = true;
  for (std::thread& searcher : searchers) searcher.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace diml::test
