#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "diml/generated.h"
#include "diml/grid_store.h"
#include "search/double_store.h"
#if DIML_HAS_GALLERY
#include "diml/gallery.h"
#endif
#if DIML_HAS_POSTGRES
#include "postgres/server.h"
#endif

namespace diml::test {

// A kind of store, for tests that every kind must pass. make: null where it cannot be had here.
struct StoreKind {
  const char* name;
  std::shared_ptr<GridStore> (*make)(const std::string& folder, const GridFormat& format);
};

inline std::vector<StoreKind> store_kinds() {
  std::vector<StoreKind> kinds = {
      {"memory",
       [](const std::string&, const GridFormat& format) { return make_memory_store(format); }},
      {"double", [](const std::string&, const GridFormat& format) {
         return std::static_pointer_cast<GridStore>(std::make_shared<DoubleStore>(format));
       }}};
#if DIML_HAS_GALLERY
  kinds.push_back({"lmdb", [](const std::string& folder, const GridFormat& format) {
                     return create_gallery(folder, format);
                   }});
#endif
#if DIML_HAS_POSTGRES
  kinds.push_back({"postgres",
                   [](const std::string& folder, const GridFormat& format)
                       -> std::shared_ptr<GridStore> {
                     // The temporary folder's name is unique.
                     const std::size_t end = folder.find_last_of('/');
                     const std::size_t begin = folder.find_last_of('/', end - 1) + 1;
                     const auto address = gallery_in_postgres(folder.substr(begin, end - begin) +
                                                              "." + folder.substr(end + 1));
                     return address ? create_gallery(*address, format) : nullptr;
                   }});
#endif
  return kinds;
}

// Generated grids, and a store to put them into.
class WithStore : public testing::TestWithParam<StoreKind> {
 protected:
  static constexpr std::size_t kImages = 300;
  static constexpr std::size_t kDim = 24;

  WithStore()
      : generated_(generate_grids({.size = kImages,
                                   .classes = 30,
                                   .grid = 3,
                                   .dim = kDim,
                                   .seed = 5,
                                   .type = CellType::float16})),
        store_(GetParam().make(folder_ / "store",
                               {.cells_per_grid = 9, .dim = kDim, .type = CellType::float16})) {}

  void SetUp() override {
#if DIML_HAS_POSTGRES
    if (!store_) GTEST_SKIP() << kNoPostgres;
#endif
  }

  std::string label(std::size_t i) const {
    return "class " + std::to_string(generated_.labels[i % kImages]);
  }
  GridView grid(std::size_t i) const { return generated_.grids[i % kImages]; }

  // Grids [first, first + count), under paths of their numbers.
  std::vector<std::int64_t> add(std::size_t first, std::size_t count,
                                Duplicates duplicates = Duplicates::refuse) const {
    std::vector<NewItem> items;
    std::vector<GridView> grids;
    for (std::size_t i = first; i < first + count; ++i) {
      items.push_back({.path = std::to_string(i), .label = label(i)});
      grids.push_back(grid(i));
    }
    return store_->add(items, set_of(grids), duplicates);
  }

  const TemporaryFolder folder_;
  const GeneratedGrids generated_;
  const std::shared_ptr<GridStore> store_;
};

inline std::string name_of_kind(const testing::TestParamInfo<StoreKind>& info) {
  return info.param.name;
}

}  // namespace diml::test
