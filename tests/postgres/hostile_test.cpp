// Random texts from outside, made of what breaks out of SQL, JSON and UTF-8, at the doors of the
// store: paths, labels, metadata, names. The store in memory knows no SQL and says what must come
// of each. Conditions: tests/search/random_filters_test.cpp.

#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "postgres/gallery_in_postgres.h"

namespace diml::test {
namespace {

using Clock = std::chrono::steady_clock;

class HostileTexts {
 public:
  explicit HostileTexts(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }

  std::string bytes() {
    std::string all;
    for (std::size_t pieces = below(6); pieces > 0; --pieces) {
      if (below(4) == 0) {
        for (std::size_t k = below(9); k > 0; --k) all += static_cast<char>(random_());
      } else {
        all += piece();
      }
    }
    return all;
  }

  // Often JSON, with hostile texts in it; sometimes cut, doubled or too deep.
  std::string metadata() {
    std::string text;
    switch (below(5)) {
      case 0:
        return bytes();
      case 1:
        text = std::string(below(80), '[') + "1";
        return R"({"a":)" + text + std::string(below(80), ']') + "}";
      case 2: {  // the same key again and again, numbers of any size
        text = "{";
        for (std::size_t k = 1 + below(40); k > 0; --k) {
          text += R"("a":)" + std::string(1 + below(400), '9') + "e" + std::to_string(below(999)) +
                  (k > 1 ? "," : "}");
        }
        break;
      }
      default: {
        nlohmann::json json = nlohmann::json::object();
        for (std::size_t k = below(5); k > 0; --k) {
          json[bytes()] = below(3) == 0 ? nlohmann::json{bytes(), nullptr, {{bytes(), -1e-7}}}
                                        : nlohmann::json(bytes());
        }
        text = json.dump(-1, ' ', below(2) == 0, nlohmann::json::error_handler_t::ignore);
      }
    }
    if (below(4) == 0) text.resize(below(text.size() + 1));
    if (below(9) == 0) text.insert(below(text.size() + 1), bytes());
    return text;
  }

 private:
  std::string piece() {
    static const std::vector<std::string> kPieces = {
        "'",
        "''",
        "\"",
        "`",
        "\\",
        "\\'",
        ";",
        "--",
        "/*",
        "*/",
        "$1",
        "$2::bytea",
        "$$",
        "$x$",
        "E'\\x27",
        "U&'\\0027",
        "\\x27",
        "%27",
        "%s%n",
        "\xBF\x27",
        "\xC0\xA7",
        "\xED\xA0\x80",
        "\xF4\x90\x80\x80",
        "\xEF\xBC\x87",
        std::string("\0", 1),
        "\1",
        "\n",
        "\r",
        "\x1A",
        " OR 1=1",
        "') OR ('a'='a",
        "}'::jsonb) OR true --",
        "'; DROP TABLE diml.items; --",
        "'; DELETE FROM canary; --",
        "'; COPY canary TO PROGRAM 'true'; --",
        "'||pg_sleep(30)||'",
        "); SELECT pg_sleep(30); --",
        "UNION SELECT 1",
        "NULL",
        "null",
        "true",
        "NaN",
        "-Infinity",
        "1e999999999",
        "0x1p-1074",
        "{1,2,NULL}",
        "[1,",
        "\"a\":",
        "a.b.c",
        ".",
        ",",
        "=",
        "(",
        ")",
        "?",
        "@>",
        "->>",
        "#>>'{}'",
        "::regclass",
        "2024-05-31",
        std::string(300, '\''),
        std::string(1100, 'x'),
    };
    return kPieces[below(kPieces.size())];
  }

  std::mt19937_64 random_;
};

class Hostile : public GalleryInPostgres {
 protected:
  void SetUp() override {
    GalleryInPostgres::SetUp();
    if (IsSkipped()) return;
    // A database of its own: what else is in it must stay as it is.
    postgres::Connection connection = administrator();
    database_ = "hostile_" + std::to_string(::getpid());
    connection.run("CREATE DATABASE " + database_);
    address_.replace(address_.find("/tests/"), 7, "/" + database_ + "/");
    store_ = made();
    administrator().run(
        "CREATE TABLE canary AS SELECT k, md5(k::text) AS text FROM generate_series(1, 100) AS k");
    memory_ = make_memory_store(format());
    before_ = everything_else();
  }

  // DIML_HOSTILE_SECONDS: how long; a few in everyday tests.
  static bool goes_on(Clock::time_point start, std::size_t round) {
    const char* const wanted = std::getenv("DIML_HOSTILE_SECONDS");
    if (wanted == nullptr) return round < 250;
    return Clock::now() - start < std::chrono::duration<double>(std::atof(wanted));
  }

  // Tables, functions, roles, settings and rows that no text has any business with.
  std::string everything_else() const {
    postgres::Connection connection = administrator();
    const postgres::Result found = connection.ask(
        "SELECT md5(concat("
        "(SELECT string_agg(concat(relname, relkind, relacl, relowner), ',' ORDER BY oid) FROM "
        "pg_class WHERE relnamespace = 'diml'::regnamespace AND relname !~ "
        "'^(items|galleries|changes)_?[0-9]' OR relname = 'canary'),"
        "(SELECT string_agg(concat(proname, prosrc, proacl), ',' ORDER BY oid) FROM pg_proc WHERE "
        "pronamespace = 'diml'::regnamespace),"
        "(SELECT string_agg(rolname || rolsuper, ',' ORDER BY rolname) FROM pg_roles WHERE rolname "
        "LIKE 'diml%'),"
        "(SELECT string_agg(canary::text, ',' ORDER BY k) FROM canary),"
        "(SELECT string_agg(m::text, ',' ORDER BY version) FROM diml.migrations AS m)))");
    return found.text(0, 0);
  }

  // What a call on both stores comes to: done, or refused.
  struct Outcome {
    bool is_done = false;
    ErrorKind kind{};
    std::string message{};
  };
  static Outcome outcome(const std::function<void()>& call) {
    const auto start = Clock::now();
    Outcome result;
    try {
      call();
      result.is_done = true;
    } catch (const Error& error) {
      result = {false, error.kind(), error.what()};
    }
    // pg_sleep(30) among the texts would be noticed.
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
    return result;
  }
  void expect_same(const std::string& what, const std::function<void(GridStore&)>& call) const {
    const Outcome wanted = outcome([&] { call(*memory_); });
    const Outcome found = outcome([&] { call(*store_); });
    EXPECT_EQ(found.is_done, wanted.is_done)
        << nlohmann::json(what).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
        << ": " << found.message << " | " << wanted.message;
    if (found.is_done) return;
    // A text may be wrong in two ways; which is told is the store's to choose.
    EXPECT_TRUE(found.kind == ErrorKind::bad_input || found.kind == ErrorKind::conflict)
        << found.message;
    EXPECT_EQ(found.message.find("PostgreSQL says"), std::string::npos) << found.message;
  }

  std::string database_;
  std::shared_ptr<GridStore> store_;
  std::shared_ptr<GridStore> memory_;
  std::string before_;
};

TEST_F(Hostile, TextsOfItemsAreTakenOrRefusedAsInMemory) {
  HostileTexts texts(17);
  const auto start = Clock::now();
  std::size_t taken = 0;
  std::size_t round = 0;
  for (; goes_on(start, round) && !HasFailure(); ++round) {
    const NewItem item{.path = texts.bytes(),
                       .label = texts.bytes(),
                       .metadata = texts.metadata(),
                       .source = SourceFile{1, -1, "00"}};
    const std::string text = item.path + " " + item.label + " " + item.metadata;
    Ids ids;
    const GridView one = grid(round);
    const Duplicates duplicates = texts.below(2) == 0 ? Duplicates::refuse : Duplicates::replace;
    expect_same(text, [&](GridStore& store) {
      ids = store.add({&item, 1}, set_of({&one, 1}), duplicates);
    });
    const std::string other = texts.bytes();
    EXPECT_EQ(store_->snapshot()->find(other), memory_->snapshot()->find(other));
    if (ids.empty()) continue;
    ++taken;
    const ItemUpdate update{.id = ids[0], .label = texts.bytes(), .metadata = texts.metadata()};
    expect_same(*update.metadata, [&](GridStore& store) { store.update({&update, 1}); });
    const Item found = store_->snapshot()->item(ids[0]);
    const Item wanted = memory_->snapshot()->item(ids[0]);
    EXPECT_EQ(found.path, wanted.path);
    EXPECT_EQ(found.label, wanted.label);
    EXPECT_EQ(found.metadata, wanted.metadata);
    EXPECT_EQ(store_->snapshot()->find(item.path), ids[0]);
  }
  EXPECT_GT(taken, round / 10);
  EXPECT_LT(taken, round);
  EXPECT_EQ(store_->snapshot()->size(), memory_->snapshot()->size());
  EXPECT_TRUE(store_->snapshot()->verify({}).faults.empty());
  EXPECT_EQ(everything_else(), before_);
  std::printf("%zu items of hostile texts, %zu of them taken\n", round, taken);
}

TEST_F(Hostile, NamesOfGalleriesAndModelsAreNamesAlone) {
  HostileTexts texts(19);
  add(*store_, items(0, 3));
  const auto start = Clock::now();
  std::size_t made = 0;
  std::size_t round = 0;
  for (; goes_on(start, 4 * round) && !HasFailure(); ++round) {
    std::string name;
    for (const char c : texts.bytes() + std::to_string(round)) {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%%%02X", static_cast<unsigned char>(c));
      name += digits;
    }
    std::string address = address_;
    const std::size_t at = address.find(database_) + database_.size() + 1;
    address.replace(at, address.find('?') - at, name);
    GridFormat hostile = format();
    hostile.model = texts.bytes();
    hostile.embedding = {{texts.bytes(), texts.bytes()}};
    const Outcome creating = outcome([&] { create_gallery(address, hostile); });
    EXPECT_EQ(creating.message.find('\n'), std::string::npos);
    EXPECT_EQ(creating.message.find("PostgreSQL says"), std::string::npos) << creating.message;
    if (!creating.is_done) {
      EXPECT_EQ(creating.kind, ErrorKind::bad_input) << creating.message;
      continue;
    }
    ++made;
    EXPECT_TRUE(gallery_exists(address));
    EXPECT_EQ(open_gallery(address)->snapshot()->size(), 0U);
    EXPECT_TRUE(remove_empty_gallery(address));
  }
  EXPECT_GT(made, round / 10);
  EXPECT_LT(made, round);
  EXPECT_EQ(store_->snapshot()->size(), 3U);
  EXPECT_EQ(everything_else(), before_);
  std::printf("%zu names of hostile texts, %zu of them taken\n", round, made);
}

}  // namespace
}  // namespace diml::test
