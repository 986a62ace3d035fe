// Conditions in SQL admit what condition_holds admits.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <random>

#include <nlohmann/json.hpp>

#include "base/label_words.h"
#include "diml/searcher.h"
#include "gallery/postgres/item_row.h"
#include "postgres/gallery_in_postgres.h"
#include "search/condition.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

// Texts and numbers that are near each other in one way or another.
class Words {
 public:
  explicit Words(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }

  std::string text() {
    static const std::vector<std::string> kTexts = {
        "", "red", "Red", "blue", "20", "20.0", "2e1", "-0", "0", "1e400", "-1e400", "1e-400",
        "5e-324", "0.1", "0.10000000000000000001", "9007199254740993", "9007199254740993.0",
        "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "18446744073709551616", "1e19", "1.8446744073709551615e19", "-9223372036854775808",
        "-9223372036854775809", "+5", " 5", "5 ", "0x10", "inf", "nan", "NaN", "1e", ".5", "5.",
        ".", "-", "1e00005", "true", "false", "null", "2024-05-31", "\xC3\xA9t\xC3\xA9",
        "\xF0\x9F\x90\x95", "'; DROP TABLE diml.items; --", "a,b", "\"", "\\", "$1", "%", "_",
        std::string("\0", 1), std::string("x\0y", 3), "\1", "\1\1", "\1\2", "\2", "\x7F",
        "1234567890123456789012345678901234567890", "1.7976931348623157e308",
        "1.7976931348623159e308", "4503599627370496.5", "0.30000000000000004", "0.3", "1e22",
        "1e23", "9.5367431640625e-07", "123456789.123456789"};
    return kTexts[below(kTexts.size())];
  }

  Json number() {
    switch (below(6)) {
      case 0:
        return static_cast<std::int64_t>(random_());
      case 1:
        return static_cast<std::uint64_t>(random_());
      case 2: {
        const double value = std::ldexp(static_cast<double>(below(100)) - 50.0,
                                        static_cast<int>(below(2000)) - 1000);
        return std::isfinite(value) ? value : 0.5;
      }
      case 3:
        return static_cast<int>(below(5)) - 2;
      default: {
        const std::string known = text();
        const Json json = Json::parse(known, nullptr, false);
        return json.is_number() ? json : Json(0.1);
      }
    }
  }

  Json value(int depth) {
    switch (below(depth > 2 ? 5 : 8)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return number();
      case 3:
      case 4:
        return text();
      case 5: {
        Json list = Json::array();
        for (std::size_t k = below(4); k > 0; --k) list.push_back(value(depth + 1));
        return list;
      }
      default:
        return object(depth + 1);
    }
  }

  std::string key() {
    static const std::vector<std::string> kKeys = {
        "a", "b", "a.b", "a.b.c", "b.c", "c", "a.", ".a", ".", "..", "label", "A",
        "\xC3\xA9", "'", "\"", "$1", "a'; --", std::string("z\0", 2), "\1"};
    return kKeys[below(kKeys.size())];
  }

  Json object(int depth) {
    Json json = Json::object();
    for (std::size_t k = below(5); k > 0; --k) json[key()] = value(depth);
    return json;
  }

  std::string label() {
    if (below(8) == 0) return std::string("\xFF") + text();
    return text();
  }

  // A condition as the grammar has it.
  std::string condition() {
    static const std::vector<std::string> kSigns = {"=", "!=", "<", "<=", ">", ">="};
    const std::size_t which = below(6);
    const std::string field = which == 0   ? "label"
                              : which == 1 ? "path"
                                           : "metadata." + key();
    switch (below(4)) {
      case 0:
        return field + (below(2) == 0 ? " exists" : " missing");
      case 1: {
        Json list = Json::array();
        for (std::size_t k = 1 + below(3); k > 0; --k) {
          list.push_back(below(2) == 0 ? Json(text()) : number());
        }
        return field + " in " + list.dump();
      }
      default: {
        const std::string operand = below(2) == 0 ? Json(text()).dump() : number().dump();
        return field + kSigns[below(kSigns.size())] + operand;
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

class PostgresFilter : public GalleryInPostgres {};

TEST_F(PostgresFilter, AdmitsWhatConditionsAdmitOfRandomMetadata) {
  constexpr std::size_t kItems = 1500;
  constexpr std::size_t kConditions = 1500;
  Words words(7);
  std::vector<NewItem> items;
  for (std::size_t i = 0; i < kItems; ++i) {
    items.push_back({.path = words.label() + "/" + std::to_string(i),
                     .label = words.label(),
                     .metadata = words.object(0).dump()});
  }
  const std::shared_ptr<GridStore> store = made();
  add(*store, items);
  const auto snapshot = store->snapshot();
  const std::vector<Item> stored = snapshot->items(snapshot->ids());
  std::size_t some = 0;
  for (std::size_t c = 0; c < kConditions; ++c) {
    std::vector<std::string> texts = {words.condition()};
    if (words.below(4) == 0) texts.push_back(words.condition());
    std::optional<Filter> filter;
    try {
      filter = Filter(texts);
    } catch (const Error&) {
      continue;  // the grammar does not take it
    }
    if (words.below(5) == 0) filter = filter->with_path_part(words.label().substr(0, 3));
    if (words.below(9) == 0) filter = filter->with_label(words.label());
    Ids wanted;
    for (const Item& item : stored) {
      if (filter->admits(item)) wanted.push_back(item.id);
    }
    const auto found = snapshot->admitted(*filter, 0);
    ASSERT_TRUE(found.has_value());
    some += !wanted.empty() && wanted.size() < kItems ? 1 : 0;
    if (*found == wanted) continue;
    Ids odd;
    std::set_symmetric_difference(found->begin(), found->end(), wanted.begin(), wanted.end(),
                                  std::back_inserter(odd));
    const Item& first = stored[static_cast<std::size_t>(odd.front())];
    ADD_FAILURE() << filter->text() << ": " << odd.size() << " items differ, such as "
                  << first.label << " | " << first.path << " | " << first.metadata;
    if (HasFailure() && c > 200) break;
  }
  EXPECT_GT(some, kConditions / 4);
}

TEST_F(PostgresFilter, NumbersOfPostgresqlAreThoseOfConditions) {
  Words words(11);
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
    EXPECT_EQ(static_cast<double>(*wanted), std::strtod(rows.text(k, 0).c_str(), nullptr)) << texts[k];
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
