#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/gallery.h"
#include "diml/generated.h"
#include "gallery/postgres/connection.h"
#include "postgres/server.h"

namespace diml::test {

using Ids = std::vector<std::int64_t>;

// Generated grids, and the address of a gallery that is not there yet.
class GalleryInPostgres : public testing::Test {
 protected:
  static constexpr std::size_t kImages = 200;
  static constexpr std::size_t kDim = 24;

  GalleryInPostgres()
      : generated_(generate_grids({.size = kImages,
                                   .classes = 20,
                                   .grid = 3,
                                   .dim = kDim,
                                   .seed = 5,
                                   .type = CellType::float16})) {}

  void SetUp() override {
    const std::string& path = folder_.path();
    const auto found = gallery_in_postgres(path.substr(path.find_last_of('/') + 1));
    if (!found) GTEST_SKIP() << kNoPostgres;
    address_ = *found;
  }

  GridFormat format() const {
    return {.cells_per_grid = 9,
            .dim = kDim,
            .type = CellType::float16,
            .embedding = {{"sha256", "0123456789abcdef"}, {"grid", "3"}},
            .model = "some\xC3\xA9where/small.safetensors"};
  }
  std::shared_ptr<GridStore> made() const { return create_gallery(address_, format()); }

  GridView grid(std::size_t i) const { return generated_.grids[i % kImages]; }
  Ids add(GridStore& store, const std::vector<NewItem>& items,
          Duplicates duplicates = Duplicates::refuse) const {
    std::vector<GridView> grids;
    for (std::size_t i = 0; i < items.size(); ++i) grids.push_back(grid(i));
    return store.add(items, set_of(grids), duplicates);
  }
  static std::vector<NewItem> items(std::size_t first, std::size_t count) {
    std::vector<NewItem> all;
    for (std::size_t i = first; i < first + count; ++i) {
      all.push_back({.path = std::to_string(i), .label = "l" + std::to_string(i % 7)});
    }
    return all;
  }

  // A connection beside those of the store: a database administrator.
  postgres::Connection administrator() const {
    return postgres::Connection(postgres::address_from(address_));
  }
  std::string name() const { return postgres::address_from(address_).gallery; }

  const TemporaryFolder folder_;
  const GeneratedGrids generated_;
  std::string address_;
};

}  // namespace diml::test
