// What every kind of store promises.

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
    EXPECT_EQ(snapshot->item(id).label, generated_.labels[i]);
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
  EXPECT_TRUE(changes(0).removed.empty());  // what came and went in between
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

TEST_P(Store, VisitsGlobalsFromAnIdOn) {
  add(0, 6);
  store_->remove(Ids{3});
  Ids seen;
  store_->snapshot()->visit(2, [&](std::int64_t id, std::int64_t label, const void* global) {
    EXPECT_EQ(label, generated_.labels[static_cast<std::size_t>(id)]);
    EXPECT_EQ(std::memcmp(global, grid(static_cast<std::size_t>(id)).global, kDim * 4), 0);
    seen.push_back(id);
    return id < 4;
  });
  EXPECT_EQ(seen, (Ids{2, 4}));
}

}  // namespace
}  // namespace diml::test
