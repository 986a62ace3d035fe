// A store that opens itself again where its folder was replaced.

#include <functional>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/searcher.h"
#include "gallery/reopening_store.h"

namespace diml::test {
namespace {

constexpr std::size_t kDim = 4;

GridFormat small_format() { return {.cells_per_grid = 4, .dim = kDim, .type = CellType::float32}; }

// In memory; replaced when told.
class LostStore final : public GridStore {
 public:
  explicit LostStore(std::size_t items) : store_(make_memory_store(small_format())) {
    for (std::size_t i = 0; i < items; ++i) add_one("image " + std::to_string(i));
  }
  std::int64_t add_one(const std::string& path) {
    GridSet grids(1, 4, kDim, CellType::float32);
    std::vector<float> cells;
    for (std::size_t k = 0; k < 4 * kDim; ++k) cells.push_back(0.1f + static_cast<float>(k % 7));
    grids.set(0, cells, {});
    const NewItem item{.path = path};
    return add({&item, 1}, grids.view(), Duplicates::refuse).front();
  }
  void lose() { is_lost_ = true; }

  const std::string& name() const override { return store_->name(); }
  const GridFormat& format() const override { return store_->format(); }
  std::unique_ptr<GridSnapshot> snapshot() const override {
    expect_there();
    return store_->snapshot();
  }
  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override {
    expect_there();
    return store_->add(items, grids, duplicates);
  }
  void update(std::span<const ItemUpdate> updates) override {
    expect_there();
    store_->update(updates);
  }
  void remove(std::span<const std::int64_t> ids) override {
    expect_there();
    store_->remove(ids);
  }
  Space space() const override { return store_->space(); }

 private:
  void expect_there() const {
    if (is_lost_) throw Error(ErrorKind::conflict, "g: was replaced: open it again", "reopen");
  }
  std::shared_ptr<GridStore> store_;
  bool is_lost_ = false;
};

void expect_told(const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_resources);
    EXPECT_STREQ(error.parameter(), "reopen");
  }
}

TEST(ReopeningStore, OneCallIsToldAndTheNextOneWorksOnTheNewStore) {
  const auto old = std::make_shared<LostStore>(5);
  const auto fresh = std::make_shared<LostStore>(2);
  gallery::ReopeningStore store(old, [&] { return fresh; });
  const Searcher search(std::shared_ptr<GridStore>(&store, [](GridStore*) {}),
                        {"exact", Backend::reference, 1});
  EXPECT_EQ(search.size(), 5u);
  const std::unique_ptr<GridSnapshot> before = store.snapshot();
  const std::uint64_t revision = before->revision();
  old->lose();
  const std::int64_t first = 0;
  expect_told([&] { store.remove({&first, 1}); });
  EXPECT_EQ(fresh->snapshot()->size(), 2u);  // the change was not done to it either
  EXPECT_EQ(before->size(), 5u);
  const std::unique_ptr<GridSnapshot> after = store.snapshot();
  EXPECT_EQ(after->size(), 2u);
  EXPECT_GT(after->revision(), revision);
  EXPECT_FALSE(after->changes_since(revision));
  EXPECT_EQ(search.size(), 2u);
  store.remove({&first, 1});
  EXPECT_EQ(search.size(), 1u);
  EXPECT_TRUE(store.snapshot()->changes_since(after->revision()));
}

TEST(ReopeningStore, WhereNothingIsThereItWaits) {
  const auto old = std::make_shared<LostStore>(1);
  const auto fresh = std::make_shared<LostStore>(3);
  bool is_there = false;
  gallery::ReopeningStore store(old, [&]() -> std::shared_ptr<GridStore> {
    if (!is_there) throw Error(ErrorKind::not_found, "/srv/g: there is no gallery");
    return fresh;
  });
  old->lose();
  for (int k = 0; k < 3; ++k) expect_told([&] { (void)store.snapshot(); });
  is_there = true;
  expect_told([&] { (void)store.snapshot(); });
  EXPECT_EQ(store.snapshot()->size(), 3u);
}

}  // namespace
}  // namespace diml::test
