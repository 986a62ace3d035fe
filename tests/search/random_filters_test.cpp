// Random conditions over random metadata admit the same items of every store, and a search finds
// the same hits to the bit.

#include <algorithm>
#include <iterator>

#include "diml/error.h"
#include "diml/searcher.h"
#include "search/random_items.h"
#include "search/stores.h"

namespace diml::test {
namespace {

using Ids = std::vector<std::int64_t>;

class RandomFilters : public WithStore {
 protected:
  static constexpr std::size_t kItems = 1200;

  RandomFilters() : random_(7), reference_(make_memory_store(store_format())) {}

  static GridFormat store_format() {
    return {.cells_per_grid = 9, .dim = kDim, .type = CellType::float16};
  }
  void fill() {
    std::vector<NewItem> items;
    std::vector<GridView> grids;
    for (std::size_t i = 0; i < kItems; ++i) {
      items.push_back(random_.item(i));
      grids.push_back(grid(i));
    }
    for (const auto& store : {store_, reference_}) store->add(items, set_of(grids));
  }

  RandomItems random_;
  const std::shared_ptr<GridStore> reference_;  // the store in memory
};

INSTANTIATE_TEST_SUITE_P(Kinds, RandomFilters, testing::ValuesIn(store_kinds()), name_of_kind);

TEST_P(RandomFilters, AdmitTheSameItems) {
  constexpr std::size_t kFilters = 1500;
  fill();
  const auto snapshot = reference_->snapshot();
  const std::vector<Item> stored = snapshot->items(snapshot->ids());
  const Searcher searcher(store_, {.threads = 1});
  std::size_t some = 0;
  for (std::size_t f = 0; f < kFilters && !HasFailure(); ++f) {
    const Filter filter = random_.filter();
    Ids wanted;
    for (const Item& item : stored) {
      if (filter.admits(item)) wanted.push_back(item.id);
    }
    const IdList found = searcher.admitted(filter);
    some += !wanted.empty() && wanted.size() < kItems ? 1 : 0;
    if (*found == wanted) continue;
    Ids odd;
    std::set_symmetric_difference(found->begin(), found->end(), wanted.begin(), wanted.end(),
                                  std::back_inserter(odd));
    const Item& first = stored[static_cast<std::size_t>(odd.front())];
    ADD_FAILURE() << filter.text() << ": " << odd.size() << " items differ, such as " << first.label
                  << " | " << first.path << " | " << first.metadata;
  }
  EXPECT_GT(some, kFilters / 4);
}

TEST_P(RandomFilters, FindTheSameHitsToTheBit) {
  constexpr std::size_t kFilters = 150;
  fill();
  const Searcher of_store(store_, {.threads = 1});
  const Searcher of_memory(reference_, {.threads = 1});
  for (std::size_t f = 0; f < kFilters && !HasFailure(); ++f) {
    const Filter filter = random_.filter();
    const GridView query = grid(f);
    const auto hits = [&](const Searcher& searcher) {
      return searcher.search(set_of({&query, 1}), 20, {}, {.rerank = 10}, filter).front();
    };
    const std::vector<Hit> found = hits(of_store);
    const std::vector<Hit> wanted = hits(of_memory);
    ASSERT_EQ(found.size(), wanted.size()) << filter.text();
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].item.id, wanted[k].item.id);
      EXPECT_EQ(found[k].item.metadata, wanted[k].item.metadata);
      EXPECT_EQ(found[k].global, wanted[k].global);
      EXPECT_EQ(found[k].structural, wanted[k].structural);
      EXPECT_EQ(found[k].total, wanted[k].total);
    }
  }
}

// More conditions than an SQL statement has parameters, a list of very many values, long texts.
TEST_P(RandomFilters, OfAnySizeAdmitTheSameItems) {
  fill();
  const Searcher of_store(store_, {.threads = 1});
  const Searcher of_memory(reference_, {.threads = 1});
  const auto expect_same = [&](const Filter& filter) {
    EXPECT_EQ(*of_store.admitted(filter), *of_memory.admitted(filter));
  };
  expect_same(Filter(std::vector<std::string>(2000, "a!=red")));
  std::string list = "a in 0";
  for (int k = 1; k < 7'000; ++k) list += "," + std::to_string(k);
  expect_same(Filter(std::vector<std::string>{list}));
  const std::string zeros(200'000, '0');
  for (const char* name : {"label", "path", "a", "metadata.a.b"}) {
    const std::string field = name;
    for (const std::string& value : {zeros, "1" + zeros, "1e" + zeros, "0." + zeros + "1"}) {
      expect_same(Filter(std::vector<std::string>{field + "<=" + value}));
      expect_same(Filter(std::vector<std::string>{field + "!=" + value}));
    }
  }
  expect_same(Filter().with_path_part(std::string(100'000, 'x')));
  expect_same(Filter().with_path_part(std::string("\0", 1)));
  expect_same(Filter().with_label(std::string(100'000, '\xFF')));
  std::string deep = "a";
  for (int k = 0; k < 2000; ++k) deep += ".b";
  expect_same(Filter(std::vector<std::string>{deep + " missing"}));
}

TEST_P(RandomFilters, OfLongTextsInTheMetadataAdmitTheSameItems) {
  const std::string zeros(10'000, '0');
  std::vector<NewItem> items;
  std::vector<GridView> grids;
  for (const std::string& text :
       {zeros, "1" + zeros, "0." + zeros + "1", "1e" + zeros, "-" + zeros}) {
    items.push_back(
        {.path = std::to_string(items.size()), .metadata = nlohmann::json{{"a", text}}.dump()});
    grids.push_back(grid(items.size()));
  }
  for (const auto& store : {store_, reference_}) store->add(items, set_of(grids));
  const Searcher of_store(store_, {.threads = 1});
  const Searcher of_memory(reference_, {.threads = 1});
  for (const char* text : {"a<=3", "a>=0", "a=0", "a!=0", "a exists", "a>=text"}) {
    const Filter filter(std::vector<std::string>{text});
    EXPECT_EQ(*of_store.admitted(filter), *of_memory.admitted(filter)) << text;
  }
}

}  // namespace
}  // namespace diml::test
