// What is peculiar to galleries in PostgreSQL; what every store must do is in tests/search.

#include <atomic>
#include <random>
#include <thread>

#include "diml/searcher.h"
#include "postgres/gallery_in_postgres.h"

namespace diml::test {
namespace {

using postgres::Parameters;

class PostgresGallery : public GalleryInPostgres {
 protected:
  // Ends all connections of other processes and of the stores of this one.
  std::size_t cut_connections(postgres::Connection& by) const {
    return by
        .ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
             Parameters().add_text(name()))
        .rows();
  }
  void cut_connections() const {
    postgres::Connection connection = administrator();
    ASSERT_GT(cut_connections(connection), 0U);
    while (cut_connections(connection) > 0) std::this_thread::yield();
  }
  // The store's connections have the gallery's name, so that a test cuts its own alone.
  std::string named_address() const { return address_ + "&application_name=" + name(); }

  void damage(const std::string& change) const {
    postgres::Connection connection = administrator();
    const postgres::Result result = connection.ask(
        "UPDATE diml.items SET " + change +
            " WHERE gallery = (SELECT id FROM diml.galleries WHERE name = $1) AND id = 3",
        Parameters().add_text(name()));
    ASSERT_EQ(result.changed(), 1U);
  }
};

TEST_F(PostgresGallery, IsThereWhenItIsOpenedAgain) {
  EXPECT_FALSE(gallery_exists(address_));
  expect_refused([&] { open_gallery(address_); }, "there is no gallery: create one",
                 ErrorKind::not_found);
  add(*made(), items(0, 5));
  EXPECT_TRUE(gallery_exists(address_));
  const std::shared_ptr<GridStore> store = open_gallery(address_);
  EXPECT_EQ(store->format().cells_per_grid, 9U);
  EXPECT_EQ(store->format().dim, kDim);
  EXPECT_EQ(store->format().type, CellType::float16);
  EXPECT_EQ(store->format().embedding, format().embedding);
  EXPECT_EQ(store->format().model, format().model);
  EXPECT_EQ(store->snapshot()->size(), 5U);
  EXPECT_GT(store->space().used, 5 * 9 * kDim * 2);
  expect_refused([&] { made(); }, "is already a gallery", ErrorKind::conflict);
  expect_refused([&] { store->remove(Ids{1}); }, "is open for reading only");
  EXPECT_FALSE(remove_empty_gallery(address_));
  open_gallery(address_, StoreAccess::write)->remove(Ids{0, 1, 2, 3, 4});
  EXPECT_TRUE(remove_empty_gallery(address_));
  EXPECT_FALSE(gallery_exists(address_));
  EXPECT_FALSE(remove_empty_gallery(address_));
  expect_refused([&] { store->snapshot(); }, "the gallery was deleted", ErrorKind::not_found);
}

TEST_F(PostgresGallery, RefusesInt8Cells) {
  GridFormat int8 = format();
  int8.type = CellType::int8;
  expect_refused([&] { create_gallery(address_, int8); }, "float16 or float32 cells",
                 ErrorKind::unsupported);
}

TEST_F(PostgresGallery, TakesEveryByteOfATextAndNothingOfItAsSql) {
  std::string all_bytes = "x";
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  const std::vector<std::string> hostile = {all_bytes,
                                            "'; DROP TABLE diml.items; --",
                                            "\\",
                                            "$1",
                                            "%s%n",
                                            "a\nb",
                                            "\xFF\xFE",
                                            "",
                                            std::string(5000, 'p'),
                                            "\\x41",
                                            "{1,2}",
                                            "NULL",
                                            "\xED\xA0\x80"};
  std::vector<NewItem> all;
  for (const std::string& text : hostile) {
    all.push_back({.path = text,
                   .label = text.substr(0, kLongestLabel),
                   .metadata = R"({"a'; --": "\u0000x\u0001", "": "$1", "n": -0.1e-7})",
                   .thumbnail = {0, 1, 255},
                   .source = SourceFile{std::uint64_t{1} << 40, -7, "abc"}});
  }
  const std::shared_ptr<GridStore> store = made();
  const Ids ids = add(*store, all);
  const std::shared_ptr<GridStore> reference = make_memory_store(format());
  add(*reference, all);
  const auto snapshot = store->snapshot();
  const auto wanted = reference->snapshot();
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    const Item item = snapshot->item(ids[i]);
    EXPECT_EQ(item.path, hostile[i]);
    EXPECT_EQ(item.label, hostile[i].substr(0, kLongestLabel));
    EXPECT_EQ(item.metadata, wanted->item(ids[i]).metadata);
    ASSERT_TRUE(item.source.has_value());
    EXPECT_EQ(item.source->size, std::uint64_t{1} << 40);
    EXPECT_EQ(item.source->modified, -7);
    EXPECT_EQ(snapshot->thumbnail(ids[i]), (std::vector<std::uint8_t>{0, 1, 255}));
    EXPECT_EQ(snapshot->find(hostile[i]), ids[i]);
  }
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
  store->update(std::vector<ItemUpdate>{{.id = ids[0],
                                         .label = "'; --",
                                         .metadata = R"({"k": "\u0000"})",
                                         .source = SourceFile{1, 2, "x"}}});
  EXPECT_EQ(store->snapshot()->item(ids[0]).label, "'; --");
  EXPECT_EQ(store->snapshot()->item(ids[0]).metadata, R"({"k":"\u0000"})");
  EXPECT_TRUE(store->snapshot()->verify({}).faults.empty());
}

TEST_F(PostgresGallery, VerifyNamesWhatWasDamaged) {
  const std::shared_ptr<GridStore> store = made();
  add(*store, items(0, 10));
  EXPECT_TRUE(store->snapshot()->verify({}).faults.empty());
  const auto expect_fault = [&](const std::string& change, const std::string& back,
                                const std::string& why) {
    damage(change);
    const StoreFaults found = store->snapshot()->verify({});
    EXPECT_EQ(found.items, 10U);
    EXPECT_EQ(found.damaged, (Ids{3})) << change;
    EXPECT_NE(found.faults.front().find(why), std::string::npos) << found.faults.front();
    damage(back);
    EXPECT_TRUE(store->snapshot()->verify({}).faults.empty()) << back;
  };
  expect_fault("label = 'other'", "label = 'l3'", "checksum of its text");
  expect_fault("path = '\\xFF'", "path = '3'", "checksum of its text");
  expect_fault("metadata = '{\"a\": 1}'", "metadata = '{}'", "conditions see other metadata");
  expect_fault("cells = set_byte(cells, 7, get_byte(cells, 7) # 1)",
               "cells = set_byte(cells, 7, get_byte(cells, 7) # 1)", "checksum of its grid");
  expect_fault("thumbnail = 'x'", "thumbnail = ''", "checksum of its thumbnail");
  expect_fault("global[2] = -global[2]", "global[2] = -global[2]", "label or global vector");
  damage("cells = substr(cells, 2)");
  EXPECT_EQ(store->snapshot()->verify({}).damaged, (Ids{3}));
  expect_refused([&] { store->snapshot()->grid(3); }, "item 3 is damaged", ErrorKind::damaged);
  damage("metadata_text = '{'");
  expect_refused([&] { store->update(std::vector<ItemUpdate>{{.id = 3, .label = "x"}}); },
                 "item 3 is damaged", ErrorKind::damaged);
  store->remove(Ids{3});
  EXPECT_TRUE(store->snapshot()->verify({}).faults.empty());
}

TEST_F(PostgresGallery, DamageIsNoticedWhenItIsUsed) {
  const std::shared_ptr<GridStore> store = made();
  add(*store, items(0, 10));
  const auto expect_noticed = [&](const std::string& change, const std::string& back,
                                  const std::function<void(const GridSnapshot&)>& use) {
    damage(change);
    expect_refused([&] { use(*store->snapshot()); }, "item 3 is damaged", ErrorKind::damaged);
    damage(back);
    use(*store->snapshot());
  };
  const auto turned = [](const std::string& column) {
    return column + " = set_byte(" + column + ", 0, get_byte(" + column + ", 0) # 4)";
  };
  expect_noticed(turned("cells"), turned("cells"), [](const auto& s) { s.grid(3); });
  expect_noticed(turned("label"), turned("label"), [](const auto& s) { s.item(3); });
  expect_noticed(turned("label"), turned("label"), [](const auto& s) { s.vectors(); });
  expect_noticed("global[1] = -global[1]", "global[1] = -global[1]",
                 [](const auto& s) { s.global(3); });
  expect_noticed("thumbnail = 'x'", "thumbnail = ''", [](const auto& s) { s.thumbnail(3); });
  expect_noticed("source_size = 5", "source_size = NULL", [](const auto& s) { s.item(3); });
}

TEST_F(PostgresGallery, WritersTakeTurnsAndLoseNothing) {
  add(*made(), items(0, 1));
  constexpr std::size_t kWriters = 6;
  constexpr std::size_t kBatches = 10;
  std::vector<std::thread> writers;
  for (std::size_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      const std::shared_ptr<GridStore> store = open_gallery(address_, StoreAccess::write);
      for (std::size_t b = 0; b < kBatches; ++b) {
        const Ids ids = add(*store, items(1000 * (w + 1) + 5 * b, 5));
        store->remove(Ids{ids[0]});
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const auto snapshot = open_gallery(address_)->snapshot();
  EXPECT_EQ(snapshot->size(), 1 + kWriters * kBatches * 4);
  EXPECT_EQ(snapshot->ids().size(), snapshot->size());
  EXPECT_EQ(snapshot->revision(), 1 + kWriters * kBatches * 2);
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
}

TEST_F(PostgresGallery, ConnectionsThatWereLostAreMadeAgain) {
  made();
  const std::shared_ptr<GridStore> store = open_gallery(named_address(), StoreAccess::write);
  add(*store, items(0, 5));
  cut_connections();
  EXPECT_EQ(store->snapshot()->size(), 5U);
  cut_connections();
  EXPECT_EQ(add(*store, items(5, 5)), (Ids{5, 6, 7, 8, 9}));
  cut_connections();
  EXPECT_GT(store->space().used, 0U);
}

// A call whose connection is lost is done once, whenever that happens.
TEST_F(PostgresGallery, AnAdditionIsMadeOnceWhileConnectionsAreCut) {
  made();
  const std::shared_ptr<GridStore> store = open_gallery(named_address(), StoreAccess::write);
  constexpr std::size_t kCuts = 30;
  std::atomic<std::size_t> cuts = 0;
  std::thread cutter([&] {
    postgres::Connection connection = administrator();
    for (std::mt19937 random(1); cuts < kCuts;) {
      cuts += cut_connections(connection);
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 150));
    }
  });
  std::vector<Ids> acknowledged;
  while (cuts < kCuts) {
    try {
      acknowledged.push_back(add(*store, items(20 * acknowledged.size(), 20)));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
      cuts = kCuts;
    }
  }
  cutter.join();
  const auto snapshot = open_gallery(address_)->snapshot();
  EXPECT_EQ(snapshot->size(), 20 * acknowledged.size());
  EXPECT_EQ(snapshot->revision(), acknowledged.size());
  for (std::size_t b = 0; b < acknowledged.size(); ++b) {
    for (std::size_t k = 0; k < 20; ++k) {
      EXPECT_EQ(snapshot->find(std::to_string(20 * b + k)), acknowledged[b][k]);
    }
  }
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
}

TEST_F(PostgresGallery, ASchemaOfALaterDimlIsRefused) {
  made();
  postgres::Connection connection = administrator();
  connection.ask("INSERT INTO diml.migrations (version, name) VALUES (999, 'later')");
  for (const StoreAccess access : {StoreAccess::read, StoreAccess::write}) {
    expect_refused([&] { open_gallery(address_, access); },
                   "was made by a later diml, in version 999 of the schema",
                   ErrorKind::unsupported);
  }
  connection.ask("DELETE FROM diml.migrations WHERE version = 999");
  EXPECT_EQ(open_gallery(address_)->snapshot()->size(), 0U);
}

TEST_F(PostgresGallery, RolesMayDoWhatTheirNamesSay) {
  add(*made(), items(0, 5));
  postgres::Connection connection = administrator();
  for (const char* role : {"reader", "writer"}) {
    connection.run(std::string("DO $$ BEGIN CREATE ROLE a_") + role + " LOGIN IN ROLE diml_" +
                   role +
                   "; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
  }
  connection.run(
      "DO $$ BEGIN CREATE ROLE a_stranger LOGIN; EXCEPTION WHEN duplicate_object OR "
      "unique_violation THEN NULL; END $$");
  const auto as = [&](const std::string& user) {
    std::string address = address_;
    return address.replace(address.find("diml@"), 4, user);
  };
  EXPECT_EQ(open_gallery(as("a_reader"))->snapshot()->item(3).path, "3");
  expect_refused([&] { open_gallery(as("a_reader"), StoreAccess::write)->remove(Ids{1}); },
                 "permission denied", ErrorKind::bad_input);
  expect_refused(
      [&] { create_gallery(as("a_reader").insert(as("a_reader").find('?'), "2"), format()); },
      "permission denied", ErrorKind::bad_input);
  expect_refused([&] { open_gallery(as("a_stranger")); }, "permission denied",
                 ErrorKind::bad_input);
  const auto writer = open_gallery(as("a_writer"), StoreAccess::write);
  EXPECT_EQ(add(*writer, items(5, 2)), (Ids{5, 6}));
  writer->update(std::vector<ItemUpdate>{{.id = 5, .label = "x"}});
  writer->remove(Ids{0});
  EXPECT_GT(writer->space().used, 0U);
  const std::string second = as("a_writer").insert(as("a_writer").find('?'), "2");
  add(*create_gallery(second, format()), items(0, 1));
  EXPECT_EQ(open_gallery(as("a_reader").insert(as("a_reader").find('?'), "2"))->snapshot()->size(),
            1U);
  // Nothing of the schema itself.
  postgres::Connection of_writer(postgres::address_from(as("a_writer")));
  for (const char* statement :
       {"DROP TABLE diml.items", "DELETE FROM diml.galleries", "CREATE TABLE diml.x ()",
        "UPDATE diml.galleries SET name = 'x'", "INSERT INTO diml.migrations VALUES (9, 'x')"}) {
    EXPECT_THROW(of_writer.ask(statement), Error) << statement;
  }
}

}  // namespace
}  // namespace diml::test
