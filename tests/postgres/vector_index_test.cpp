// The first stage by pgvector, where the server has it.

#include <algorithm>

#include "diml/searcher.h"
#include "postgres/gallery_in_postgres.h"

namespace diml::test {
namespace {

class Pgvector : public GalleryInPostgres {
 protected:
  void SetUp() override {
    GalleryInPostgres::SetUp();
    if (IsSkipped()) return;
    postgres::Connection connection = administrator();
    if (connection.ask("SELECT FROM pg_available_extensions WHERE name = 'vector'").rows() == 0) {
      GTEST_SKIP() << "this Debian has no pgvector for its PostgreSQL";
    }
    store_ = made();
    fill(*store_);
  }

  void fill(GridStore& store) const {
    std::vector<NewItem> items;
    for (std::size_t i = 0; i < kImages; ++i) {
      items.push_back({.path = std::to_string(i),
                       .label = i % 20 == 0 ? "rare" : "common",
                       .metadata = R"({"price": )" + std::to_string(i) + "}"});
    }
    add(store, items);
  }

  std::vector<Hit> hits(const Searcher& search, std::size_t query, std::size_t top,
                        const Filter& filter = {}, std::int64_t exclude = -1) const {
    const GridView one = grid(query);
    return search.search(set_of({&one, 1}), top, {&exclude, 1}, {.rerank = top}, filter).front();
  }

  static void expect_same(const std::vector<Hit>& found, const std::vector<Hit>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].item.id, wanted[k].item.id);
      EXPECT_EQ(found[k].global, wanted[k].global);
      EXPECT_EQ(found[k].structural, wanted[k].structural);
      EXPECT_EQ(found[k].total, wanted[k].total);
    }
  }

  std::shared_ptr<GridStore> store_;
};

TEST_F(Pgvector, FindsWhatAnExactSearchFinds) {
  expect_refused([&] { Searcher(store_, {.source = "pgvector"}); }, "has no index of its own",
                 ErrorKind::not_found);
  EXPECT_FALSE(store_->own_index().has_value());
  const StoreIndex made = store_->make_own_index();
  EXPECT_EQ(made.kind, "pgvector");
  EXPECT_EQ(made.items, kImages);
  EXPECT_GT(made.bytes, 0U);
  EXPECT_GE(made.recall.at(10), 0.98);
  const std::shared_ptr<GridStore> opened = open_gallery(address_);
  EXPECT_EQ(opened->own_index()->recall, made.recall);
  const Searcher by_index(opened, {.source = "pgvector"});
  const Searcher exact(opened);
  EXPECT_STREQ(by_index.source(), "pgvector");
  EXPECT_EQ(by_index.size(), kImages);
  for (std::size_t q = 0; q < 20; ++q) {
    expect_same(hits(by_index, q, 10), hits(exact, q, 10));
    expect_same(hits(by_index, q, 10, {}, static_cast<std::int64_t>(q)),
                hits(exact, q, 10, {}, static_cast<std::int64_t>(q)));
  }
  expect_same(hits(by_index, 3, 2 * kImages), hits(exact, 3, 2 * kImages));
}

TEST_F(Pgvector, AFilterComesBeforeTheFirstStage) {
  store_->make_own_index();
  const Searcher by_index(store_, {.source = "pgvector"});
  const Searcher exact(store_);
  for (const std::vector<std::string>& conditions :
       std::vector<std::vector<std::string>>{{"label=rare"},
                                             {"label!=rare", "price<50"},
                                             {"price in 3,4,5"},
                                             {"price missing"},
                                             {"path=7'; --"}}) {
    const Filter filter(conditions);
    for (std::size_t q = 0; q < 5; ++q) {
      expect_same(hits(by_index, q, 10, filter), hits(exact, q, 10, filter));
      expect_same(hits(by_index, q, kImages, filter), hits(exact, q, kImages, filter));
    }
  }
}

TEST_F(Pgvector, FollowsEveryChange) {
  store_->make_own_index();
  const Searcher by_index(store_, {.source = "pgvector"});
  const Searcher exact(store_);
  std::vector<std::int64_t> first;
  for (std::int64_t id = 0; id < 40; ++id) first.push_back(id);
  store_->remove(first);
  add(*store_, items(1000, 30));
  EXPECT_EQ(by_index.size(), kImages - 10);
  for (std::size_t q = 0; q < 20; ++q) expect_same(hits(by_index, q, 10), hits(exact, q, 10));
  EXPECT_EQ(by_index.beside_source(), 0U);
}

}  // namespace
}  // namespace diml::test
