// Galleries by way of PgBouncer, which lends its few connections from transaction to transaction.

#include <atomic>
#include <thread>

#include "diml/searcher.h"
#include "postgres/gallery_in_postgres.h"
#include "postgres/own_server.h"

namespace diml::test {
namespace {

class Pgbouncer : public GalleryInPostgres {
 protected:
  void SetUp() override {
    GalleryInPostgres::SetUp();
    if (IsSkipped()) return;
    bouncer_ = std::make_unique<Started>("pgbouncer", folder_.path(), DIML_POSTGRES_TEST);
    if (!bouncer_->is_there()) GTEST_SKIP() << "there is no PgBouncer: install pgbouncer";
    pooled_ = bouncer_->gallery(name());
  }

  // Connections of the pooler to the server.
  std::int64_t lent() const {
    postgres::Connection connection = administrator();
    return connection
        .ask(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = 'tests' AND application_name = "
            "$1",
            postgres::Parameters().add_text("bounced"))
        .number(0, 0);
  }

  std::unique_ptr<Started> bouncer_;
  std::string pooled_;
};

TEST_F(Pgbouncer, ManyReadersAndWritersShareItsConnections) {
  pooled_ += "&application_name=bounced";
  create_gallery(pooled_, format());
  constexpr std::size_t kWriters = 4;
  constexpr std::size_t kReaders = 6;
  constexpr std::size_t kBatches = 8;
  std::vector<std::thread> threads;
  std::atomic<std::size_t> writing = kWriters;
  std::atomic<std::int64_t> most = 0;
  const auto quietly = [](const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  };
  for (std::size_t w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      quietly([&] {
        const auto store = open_gallery(pooled_, StoreAccess::write);
        for (std::size_t b = 0; b < kBatches; ++b) {
          const Ids ids = add(*store, items(1000 * w + 20 * b, 20));
          store->update(std::vector<ItemUpdate>{{.id = ids[1], .label = "changed"}});
          store->remove(Ids{ids[0]});
        }
      });
      --writing;
    });
  }
  for (std::size_t r = 0; r < kReaders; ++r) {
    threads.emplace_back([&] {
      quietly([&] {
        const Searcher searcher(open_gallery(pooled_), {.threads = 1, .take_in = TakeIn::at_once});
        const Filter filter(std::vector<std::string>{"label=changed"});
        do {
          const GridView query = grid(3);
          searcher.search(set_of({&query, 1}), 5, {}, {}, filter);
          most = std::max<std::int64_t>(most, lent());
        } while (writing > 0);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 3);
  const auto snapshot = open_gallery(address_)->snapshot();
  EXPECT_EQ(snapshot->size(), kWriters * kBatches * 19);
  EXPECT_EQ(snapshot->revision(), kWriters * kBatches * 3);
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
  const Searcher pooled(open_gallery(pooled_), {.threads = 1});
  const Searcher direct(open_gallery(address_), {.threads = 1});
  for (std::size_t q = 0; q < 10; ++q) {
    const GridView query = grid(q);
    const auto found = pooled.search(set_of({&query, 1}), 10).front();
    const auto wanted = direct.search(set_of({&query, 1}), 10).front();
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].item.id, wanted[k].item.id);
      EXPECT_EQ(found[k].total, wanted[k].total);
    }
  }
}

TEST_F(Pgbouncer, AnIndexOfPgvectorIsMadeAndAskedByWayOfIt) {
  postgres::Connection connection = administrator();
  if (connection.ask("SELECT FROM pg_available_extensions WHERE name = 'vector'").rows() == 0) {
    GTEST_SKIP() << "this Debian has no pgvector for its PostgreSQL";
  }
  const auto store = create_gallery(pooled_, format());
  add(*store, items(0, kImages));
  EXPECT_GE(store->make_own_index().recall.at(10), 0.98);
  const Searcher by_index(store, {.source = "pgvector", .threads = 1});
  const Searcher exact(open_gallery(address_), {.threads = 1});
  const GridView query = grid(3);
  const auto found = by_index.search(set_of({&query, 1}), 10).front();
  const auto wanted = exact.search(set_of({&query, 1}), 10).front();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_EQ(found[k].item.id, wanted[k].item.id);
}

}  // namespace
}  // namespace diml::test
