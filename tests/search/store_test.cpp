// Tests for every kind of store.

#include <cstring>

#include "search/stores.h"

namespace diml::test {
namespace {

using Ids = std::vector<std::int64_t>;

class Store : public WithStore {};
INSTANTIATE_TEST_SUITE_P(Kinds, Store, testing::ValuesIn(store_kinds()), name_of_kind);

TEST_P(Store, GivesBackItemsAndGridsBitForBit) {
  EXPECT_EQ(add(0, 3), (Ids{0, 1, 2}));
  const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
  EXPECT_EQ(snapshot->size(), 3u);
  EXPECT_EQ(snapshot->ids(), (Ids{0, 1, 2}));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto id = static_cast<std::int64_t>(i);
    const GridView stored = snapshot->grid(id);
    EXPECT_EQ(std::memcmp(stored.cells, grid(i).cells, 9 * kDim * 2), 0);
    EXPECT_EQ(std::memcmp(stored.global, grid(i).global, kDim * sizeof(float)), 0);
    EXPECT_EQ(snapshot->item(id).path, std::to_string(i));
    EXPECT_EQ(snapshot->item(id).label, label(i));
    EXPECT_EQ(snapshot->item(id).metadata, "{}");
    EXPECT_EQ(snapshot->find(std::to_string(i)), id);
  }
}

TEST_P(Store, ViewsOfGridsStayWhileTheSnapshotLives) {
  add(0, 40);
  const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
  const std::vector<GridView> grids = snapshot->grids(snapshot->ids());
  store_->remove(Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  add(100, 40);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(std::memcmp(grids[i].cells, grid(i).cells, 9 * kDim * 2), 0);
    EXPECT_EQ(std::memcmp(grids[i].global, grid(i).global, kDim * sizeof(float)), 0);
  }
}

TEST_P(Store, TellsWhatChanged) {
  add(0, 5);                       // revision 1
  store_->remove(Ids{1});          // 2
  add(10, 2);                      // 3: ids 5, 6
  add(3, 1, Duplicates::replace);  // 4: id 7 in the place of 3
  store_->remove(Ids{5, 0});       // 5
  const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
  EXPECT_EQ(snapshot->revision(), 5u);
  const auto changes = [&](std::uint64_t revision) { return *snapshot->changes_since(revision); };
  EXPECT_EQ(changes(0).first_new_id, 0);
  EXPECT_TRUE(changes(0).removed.empty());  // added and removed in between
  EXPECT_EQ(changes(1).first_new_id, 5);
  EXPECT_EQ(changes(1).removed, (Ids{0, 1, 3}));
  EXPECT_EQ(changes(3).first_new_id, 7);
  EXPECT_EQ(changes(3).removed, (Ids{0, 3, 5}));
  EXPECT_EQ(changes(4).first_new_id, 8);
  EXPECT_EQ(changes(4).removed, (Ids{0, 5}));
  EXPECT_EQ(snapshot->vectors(changes(3).first_new_id).ids, (Ids{7}));
  EXPECT_FALSE(snapshot->changes_since(77).has_value());
}

TEST_P(Store, RefusesByKind) {
  add(0, 2);
  const auto kind_of = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of([&] { (void)store_->snapshot()->item(9); }), ErrorKind::not_found);
  EXPECT_EQ(kind_of([&] { (void)store_->snapshot()->grid(9); }), ErrorKind::not_found);
  EXPECT_EQ(kind_of([&] { store_->remove(Ids{0, 9}); }), ErrorKind::not_found);
  EXPECT_EQ(store_->snapshot()->size(), 2u);
  EXPECT_EQ(kind_of([&] { add(1, 1); }), ErrorKind::conflict);
  const GeneratedGrids other = generate_grids({.size = 1, .classes = 1, .grid = 4, .dim = kDim});
  const std::vector<NewItem> one = {{.path = "new"}};
  EXPECT_EQ(kind_of([&] { store_->add(one, other.grids.view()); }), ErrorKind::bad_input);
}

TEST_P(Store, UpdatesLabelAndMetadataAndNothingElse) {
  add(0, 4);
  const std::unique_ptr<GridSnapshot> before = store_->snapshot();
  const std::vector<ItemUpdate> updates = {
      {.id = 1, .label = "pug", .metadata = "{\"a\":1}"},
      {.id = 3, .label = ""},
      {.id = 0, .source = SourceFile{12, -5, "abc"}},
  };
  store_->update(updates);
  const std::unique_ptr<GridSnapshot> after = store_->snapshot();
  EXPECT_EQ(after->revision(), 2u);
  EXPECT_EQ(after->item(1).label, "pug");
  EXPECT_EQ(after->item(1).metadata, "{\"a\":1}");
  EXPECT_EQ(after->item(3).label, "");
  EXPECT_EQ(after->item(3).metadata, "{}");
  EXPECT_EQ(after->item(2).label, label(2));
  EXPECT_EQ(after->item(0).label, label(0));
  ASSERT_TRUE(after->item(0).source.has_value());
  EXPECT_EQ(after->item(0).source->size, 12u);
  EXPECT_EQ(after->item(0).source->modified, -5);
  EXPECT_EQ(after->item(0).source->sha256, "abc");
  EXPECT_FALSE(after->item(1).source.has_value());
  EXPECT_EQ(after->find("1"), 1);
  after->visit(1, [&](std::int64_t, std::string_view word, const void*) {
    EXPECT_EQ(word, "pug");
    return false;
  });
  for (std::size_t i = 0; i < 4; ++i) {
    const GridView stored = after->grid(static_cast<std::int64_t>(i));
    EXPECT_EQ(std::memcmp(stored.cells, grid(i).cells, 9 * kDim * 2), 0);
    EXPECT_EQ(std::memcmp(stored.global, grid(i).global, kDim * sizeof(float)), 0);
  }
  EXPECT_TRUE(after->verify().faults.empty());
  // An older snapshot is as it was.
  EXPECT_EQ(before->item(1).label, label(1));
  EXPECT_EQ(before->item(1).metadata, "{}");
}

TEST_P(Store, TellsWhatWasUpdated) {
  add(0, 5);                                                             // revision 1
  store_->update(std::vector<ItemUpdate>{{.id = 4, .label = "x"}, {.id = 2, .label = "y"}});  // 2
  add(10, 1);                                                            // 3: id 5
  store_->update(std::vector<ItemUpdate>{{.id = 5, .label = "z"}, {.id = 2, .label = "w"}});  // 4
  store_->remove(Ids{4});                                                // 5
  const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
  const auto changes = [&](std::uint64_t revision) { return *snapshot->changes_since(revision); };
  EXPECT_EQ(changes(1).first_new_id, 5);
  EXPECT_EQ(changes(1).removed, (Ids{4}));
  EXPECT_EQ(changes(1).updated, (Ids{2}));  // 4 is gone, 5 is new
  EXPECT_EQ(changes(3).first_new_id, 6);
  EXPECT_EQ(changes(3).updated, (Ids{2, 5}));
  EXPECT_TRUE(changes(4).updated.empty());
}

TEST_P(Store, UpdatesAllOrNothing) {
  add(0, 2);
  const std::vector<ItemUpdate> wrong = {{.id = 0, .label = "x"}, {.id = 9, .label = "x"}};
  expect_refused([&] { store_->update(wrong); }, "nothing was changed", ErrorKind::not_found);
  const std::vector<ItemUpdate> longer = {{.id = 0, .label = std::string(kLongestLabel + 1, 'x')}};
  expect_refused([&] { store_->update(longer); }, "at most 1024", ErrorKind::bad_input);
  EXPECT_EQ(store_->snapshot()->item(0).label, label(0));
  EXPECT_EQ(store_->snapshot()->revision(), 1u);
}

TEST_P(Store, VisitsGlobalsFromAnIdOn) {
  add(0, 6);
  store_->remove(Ids{3});
  Ids seen;
  store_->snapshot()->visit(2, [&](std::int64_t id, std::string_view word, const void* global) {
    EXPECT_EQ(word, label(static_cast<std::size_t>(id)));
    EXPECT_EQ(std::memcmp(global, grid(static_cast<std::size_t>(id)).global, kDim * 4), 0);
    seen.push_back(id);
    return id < 4;
  });
  EXPECT_EQ(seen, (Ids{2, 4}));
}

}  // namespace
}  // namespace diml::test
