// A gallery whose rows lie in three databases, by postgres_fdw.

#include <algorithm>
#include <set>

#include "diml/searcher.h"
#include "engine/copy_gallery.h"
#include "gallery/postgres/postgres_store.h"
#include "gallery/postgres/shards.h"
#include "gallery/sharding.h"
#include "postgres/gallery_in_postgres.h"

namespace diml::test {
namespace {

constexpr std::size_t kShards = 3;

class Shards : public GalleryInPostgres {
 protected:
  void SetUp() override {
    GalleryInPostgres::SetUp();
    if (IsSkipped()) return;
    postgres::Connection connection = administrator();
    if (connection.ask("SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw'").rows() ==
        0) {
      GTEST_SKIP() << "this PostgreSQL has no postgres_fdw";
    }
    has_vectors_ =
        connection.ask("SELECT FROM pg_available_extensions WHERE name = 'vector'").rows() > 0;
    over_ = shards_in_postgres();
    whole_ = made();
    fill(*whole_);
    sharded_address_ = address_;
    sharded_address_.insert(sharded_address_.find('?'), "-sharded");
    create_gallery(sharded_address_, format());
    gallery::shard(sharded_address_, over_);
    copy_gallery(*whole_, *sharded());
  }

  void fill(GridStore& store) const {
    std::vector<NewItem> items;
    for (std::size_t i = 0; i < kImages; ++i) {
      items.push_back({.path = std::to_string(i),
                       .label = i % 20 == 0 ? "rare" : "common",
                       .metadata = R"({"price": )" + std::to_string(i) + "}",
                       .thumbnail = {std::uint8_t(i), 7}});
    }
    add(store, items);
  }
  std::shared_ptr<GridStore> sharded() const {
    return open_gallery(sharded_address_, StoreAccess::write);
  }
  const postgres::GalleryRow row() const {
    return postgres::PostgresStore::open(sharded_address_, StoreAccess::read)->row();
  }
  postgres::Connection shard(std::size_t k) const {
    std::string with_name = over_[k];
    return postgres::Connection(
        postgres::address_from(with_name.insert(with_name.find('?'), "/x")));
  }
  // Rows in the databases of the shards, whether they count or not.
  std::int64_t rows() const {
    std::int64_t all = 0;
    const std::string count = "SELECT count(*) FROM " + postgres::shard_table(row());
    for (std::size_t k = 0; k < kShards; ++k) {
      postgres::Connection connection = shard(k);
      all += connection.ask(count.c_str()).number(0, 0);
    }
    return all;
  }
  static std::string text_of(const postgres::Result& plan) {
    std::string text;
    for (std::size_t line = 0; line < plan.rows(); ++line) text += plan.text(line, 0) + "\n";
    return text;
  }
  static std::size_t times(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
      ++count;
    return count;
  }

  void expect_same_hits(const SearcherParams& params) const {
    const Searcher one(whole_);
    const Searcher three(sharded(), params);
    EXPECT_EQ(one.size(), three.size());
    for (const std::vector<std::string>& conditions :
         std::vector<std::vector<std::string>>{{}, {"label=rare"}, {"price<50", "label!=rare"}}) {
      const Filter filter(conditions);
      for (std::size_t q = 0; q < 20; ++q) {
        const GridView query = grid(q);
        const auto wanted = one.search(set_of({&query, 1}), 10, {}, {.rerank = 20}, filter).front();
        const auto found =
            three.search(set_of({&query, 1}), 10, {}, {.rerank = 20}, filter).front();
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t k = 0; k < found.size(); ++k) {
          EXPECT_EQ(found[k].item.id, wanted[k].item.id);
          EXPECT_EQ(found[k].item.path, wanted[k].item.path);
          EXPECT_EQ(found[k].total, wanted[k].total);
        }
      }
    }
  }

  bool has_vectors_ = false;
  std::vector<std::string> over_;
  std::shared_ptr<GridStore> whole_;
  std::string sharded_address_;
};

TEST_F(Shards, HaveTheRowsAndTheHitsOfOneServer) {
  EXPECT_EQ(rows(), static_cast<std::int64_t>(kImages));
  for (std::size_t k = 0; k < kShards; ++k) {
    postgres::Connection connection = shard(k);
    const std::string count = "SELECT count(*) FROM " + postgres::shard_table(row());
    EXPECT_GT(connection.ask(count.c_str()).number(0, 0), 0) << k;
  }
  const std::shared_ptr<GridStore> store = sharded();
  const auto snapshot = store->snapshot();
  EXPECT_EQ(snapshot->size(), kImages);
  EXPECT_EQ(snapshot->ids(), whole_->snapshot()->ids());
  EXPECT_EQ(snapshot->summary().labels, 2U);
  EXPECT_EQ(snapshot->thumbnail(5), whole_->snapshot()->thumbnail(5));
  EXPECT_EQ(snapshot->find("17"), 17);
  EXPECT_GT(store->space().used, 100'000U);
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
  expect_same_hits({});
}

TEST_F(Shards, TakeEveryKindOfChange) {
  const std::shared_ptr<GridStore> store = sharded();
  const Searcher search(store);
  EXPECT_EQ(add(*store, items(1000, 10)).front(), static_cast<std::int64_t>(kImages));
  store->remove(Ids{3, 4, 5});
  store->update(
      std::vector<ItemUpdate>{{.id = 6, .label = "new"}, {.id = 7, .metadata = R"({"a": 1})"}});
  const Ids replaced = add(*store, items(8, 2), Duplicates::replace);
  for (const auto& snapshot : {store->snapshot(), open_gallery(sharded_address_)->snapshot()}) {
    EXPECT_EQ(snapshot->size(), kImages + 10 - 3);
    for (const std::int64_t gone : {3, 4, 5, 8, 9}) {
      EXPECT_FALSE(snapshot->contains(gone)) << gone;
      EXPECT_THROW(snapshot->item(gone), Error);
      EXPECT_THROW(snapshot->grid(gone), Error);
    }
    EXPECT_EQ(snapshot->find("8"), replaced[0]);
    EXPECT_EQ(snapshot->item(6).label, "new");
    EXPECT_EQ(snapshot->item(7).metadata, R"({"a":1})");
    EXPECT_EQ(snapshot->ids().size(), snapshot->size());
    EXPECT_TRUE(snapshot->verify({}).faults.empty());
  }
  EXPECT_EQ(search.size(), kImages + 7);
  EXPECT_THROW(store->remove(Ids{3}), Error);
  EXPECT_THROW(add(*store, items(10, 1)), Error);  // the path is taken
}

// What a change leaves behind that the shards committed, and the gallery's own database did not.
TEST_F(Shards, AChangeThatWasNotCommittedLeavesNothingThatCounts) {
  const std::string table = postgres::shard_table(row());
  for (std::size_t k = 0; k < kShards; ++k) {
    postgres::Connection connection = shard(k);
    connection.run("CREATE TEMP TABLE lost AS SELECT * FROM " + table +
                   " LIMIT 5; UPDATE lost SET id = id + " + std::to_string(kImages) +
                   "; INSERT INTO " + table + " SELECT * FROM lost");
  }
  const std::shared_ptr<GridStore> store = sharded();
  EXPECT_EQ(store->snapshot()->size(), kImages);
  EXPECT_EQ(store->snapshot()->ids().size(), kImages);
  EXPECT_TRUE(store->snapshot()->verify({}).faults.empty());
  expect_same_hits({});
  EXPECT_EQ(rows(), static_cast<std::int64_t>(kImages + 5 * kShards));
  add(*store, items(1000, 2));
  EXPECT_EQ(rows(), static_cast<std::int64_t>(kImages + 2));
  store->remove(Ids{1, 2});
  EXPECT_EQ(rows(), static_cast<std::int64_t>(kImages + 2));  // until the next change
  EXPECT_EQ(store->snapshot()->ids().size(), kImages);
  add(*store, items(2000, 1));
  EXPECT_EQ(rows(), static_cast<std::int64_t>(kImages + 1));
}

TEST_F(Shards, ReadersAskAllOfThemAtOnceAndOneForARow) {
  postgres::Connection connection = administrator();
  const std::string gallery = std::to_string(row().number);
  const std::string walk = text_of(connection.ask(
      "EXPLAIN (VERBOSE) SELECT id, label, global FROM diml.items WHERE gallery = " + gallery +
      " AND id >= 7 ORDER BY id LIMIT 5"));
  EXPECT_EQ(times(walk, "Foreign Scan on"), kShards) << walk;
  EXPECT_EQ(times(walk, "((id >= 7))"), kShards) << walk;  // in what they are sent
  // A row is asked for where it lies.
  const std::string one = text_of(connection.ask(
      "EXPLAIN (VERBOSE) SELECT cells FROM diml.items WHERE gallery = " + gallery + " AND id = 5"));
  EXPECT_EQ(times(one, "Foreign Scan on"), 1U) << one;
}

// All of them at once, each by its own index for its own nearest.
TEST_F(Shards, ThePlanOfPgvectorAsksAllForTheirNearest) {
  if (!has_vectors_) GTEST_SKIP() << "this Debian has no pgvector for its PostgreSQL";
  const std::shared_ptr<GridStore> store = sharded();
  EXPECT_FALSE(store->own_index().has_value());
  const StoreIndex made = store->make_own_index();
  EXPECT_EQ(made.kind, "pgvector");
  EXPECT_GT(made.bytes, 0U);
  EXPECT_GE(made.recall.at(10), 0.98);
  EXPECT_EQ(store->own_index()->recall, made.recall);
  expect_same_hits({.source = "pgvector"});

  for (std::size_t k = 0; k < kShards; ++k) {
    postgres::Connection of_shard = shard(k);
    of_shard.run("ANALYZE " + postgres::shard_table(row()));
  }
  postgres::Connection connection = administrator();
  postgres::Parameters parameters;
  const GridView query = grid(3);
  parameters.add(row().number).add(std::span(query.global, kDim)).add(std::int64_t{21});
  parameters.add(static_cast<std::int64_t>(kImages)).add(std::span<const std::int64_t>());
  const std::string schema =
      connection
          .ask("SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'")
          .text(0, 0);
  const std::string statement =
      postgres::nearest_of_shards_sql(row(), schema, "id, global", "true", 4);
  const std::string plan = text_of(connection.ask("EXPLAIN (VERBOSE) " + statement, parameters));
  EXPECT_EQ(times(plan, "Async Foreign Scan on"), kShards) << plan;
  EXPECT_EQ(times(plan, "LIMIT 21::bigint"), kShards) << plan;
  std::size_t sorted = 0;
  for (std::size_t at = 0; (at = plan.find("Remote SQL:", at)) != std::string::npos; ++at) {
    const std::string remote = plan.substr(at, plan.find('\n', at) - at);
    sorted += remote.find(" ORDER BY ") < remote.find(" LIMIT ");
  }
  EXPECT_EQ(sorted, kShards) << plan;
}

TEST_F(Shards, AreLaidForANewGalleryAlone) {
  expect_refused([&] { gallery::shard(address_, over_); }, "is not new", ErrorKind::conflict);
  expect_refused([&] { gallery::shard(sharded_address_, over_); }, "is not new",
                 ErrorKind::conflict);
  std::string third = address_;
  third.insert(third.find('?'), "-third");
  create_gallery(third, format());
  expect_refused([&] { gallery::shard(third, std::vector<std::string>{over_[0]}); },
                 "two databases or more", ErrorKind::bad_input);
  std::vector<std::string> wrong = over_;
  wrong[1] = "postgres://diml@/nowhere" + over_[0].substr(over_[0].find('?'));
  expect_refused([&] { gallery::shard(third, wrong); }, "cannot be reached", ErrorKind::not_found);
  add(*open_gallery(third, StoreAccess::write), items(0, 3));  // it is as it was
}

}  // namespace
}  // namespace diml::test
