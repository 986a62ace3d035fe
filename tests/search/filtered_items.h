#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/label_words.h"
#include "diml/searcher.h"
#include "search/stores.h"

namespace diml::test {

using Ids = std::vector<std::int64_t>;

// Items with labels and metadata, of which a filter admits some.
class Filtered : public WithStore {
 protected:
  static NewItem item(std::size_t i, std::int64_t label) {
    return {.path = std::to_string(i),
            .label = label_word(label),
            .metadata = R"({"price": )" + std::to_string(i % 7) + R"(, "at": {"room": ")" +
                        (i % 3 == 0 ? "hall" : "attic") + "\"}}"};
  }

  Ids add_items(GridStore& store, const std::vector<std::size_t>& images) const {
    std::vector<NewItem> items;
    std::vector<GridView> grids;
    for (const std::size_t i : images) {
      items.push_back(item(i, generated_.labels[i % kImages]));
      grids.push_back(grid(i));
    }
    return store.add(items, set_of(grids), Duplicates::refuse);
  }
  Ids add_items(std::size_t first, std::size_t count) const {
    std::vector<std::size_t> images(count);
    std::iota(images.begin(), images.end(), first);
    return add_items(*store_, images);
  }

  // A store with the items of `store_` that the filter admits, and no others.
  std::shared_ptr<GridStore> admitted_alone(const Filter& filter) const {
    const std::shared_ptr<GridStore> alone = make_memory_store(store_->format());
    const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
    std::vector<std::size_t> images;
    for (const std::int64_t id : snapshot->ids()) {
      const Item one = snapshot->item(id);
      if (filter.admits(one)) images.push_back(std::stoul(one.path));
    }
    if (!images.empty()) add_items(*alone, images);
    return alone;
  }

  static void expect_same_hits(const std::vector<std::vector<Hit>>& found,
                               const std::vector<std::vector<Hit>>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t q = 0; q < found.size(); ++q) {
      ASSERT_EQ(found[q].size(), wanted[q].size());
      for (std::size_t k = 0; k < found[q].size(); ++k) {
        EXPECT_EQ(found[q][k].item.path, wanted[q][k].item.path);
        EXPECT_EQ(found[q][k].global, wanted[q][k].global);
        EXPECT_EQ(found[q][k].structural, wanted[q][k].structural);
        EXPECT_EQ(found[q][k].total, wanted[q][k].total);
        EXPECT_EQ(found[q][k].first_rank, wanted[q][k].first_rank);
      }
    }
  }

  GridSetView queries(std::size_t count) const {
    views_.clear();
    for (std::size_t q = 0; q < count; ++q) views_.push_back(grid(3 * q + 1));
    return set_of(views_);
  }

  mutable std::vector<GridView> views_;
};

}  // namespace diml::test
