// Conditions as SQL; that they admit what they admit of every store is in tests/search.

#include <cstdlib>

#include "diml/searcher.h"
#include "gallery/postgres/item_row.h"
#include "postgres/gallery_in_postgres.h"
#include "search/condition.h"
#include "search/random_items.h"

namespace diml::test {
namespace {

class PostgresFilter : public GalleryInPostgres {};

TEST_F(PostgresFilter, NumbersOfPostgresqlAreThoseOfConditions) {
  RandomItems words(11);
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < 3000; ++k) {
    texts.push_back(words.below(2) == 0 ? words.text() : words.number().dump());
  }
  made();
  postgres::Connection connection = administrator();
  const postgres::Result rows = connection.ask(
      "SELECT diml.number_in(t)::text FROM unnest($1) WITH ORDINALITY AS u (t, n) ORDER BY n",
      postgres::Parameters().add_bytes(texts));
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const std::optional<long double> wanted = number_in(texts[k]);
    ASSERT_EQ(rows.is_null(k, 0), !wanted) << texts[k];
    if (!wanted) continue;
    // As near as a text of a number can be.
    EXPECT_EQ(static_cast<double>(*wanted), std::strtod(rows.text(k, 0).c_str(), nullptr))
        << texts[k];
  }
}

TEST_F(PostgresFilter, ASearchSeesTheFilterBeforeItsFirstStage) {
  const std::shared_ptr<GridStore> store = made();
  const std::shared_ptr<GridStore> memory = make_memory_store(format());
  std::vector<NewItem> items;
  for (std::size_t i = 0; i < kImages; ++i) {
    items.push_back({.path = std::to_string(i),
                     .label = i % 3 == 0 ? "rare" : "common",
                     .metadata = R"({"price": )" + std::to_string(i) + "}"});
  }
  add(*store, items);
  add(*memory, items);
  const std::vector<std::string> conditions = {"label=rare", "price>=150"};
  const GridView one = grid(0);
  const auto hits = [&](const std::shared_ptr<GridStore>& from) {
    return Searcher(from).search(set_of({&one, 1}), 30, {}, {}, Filter(conditions)).front();
  };
  const auto found = hits(store);
  const auto wanted = hits(memory);
  ASSERT_EQ(found.size(), 17U);
  ASSERT_EQ(wanted.size(), found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_EQ(found[k].item.id, wanted[k].item.id);
    EXPECT_EQ(found[k].total, wanted[k].total);
    EXPECT_EQ(found[k].structural, wanted[k].structural);
  }
}

}  // namespace
}  // namespace diml::test
