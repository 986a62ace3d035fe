#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/label_words.h"
#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/gallery.h"
#include "diml/generated.h"

namespace diml::test {

// Generated grids, and galleries made of them.
class GalleryFolder : public testing::Test {
 protected:
  static constexpr std::size_t kImages = 60;
  static constexpr std::size_t kDim = 24;

  explicit GalleryFolder(CellType type = CellType::float32)
      : generated_(generate_grids(
            {.size = kImages, .classes = 6, .grid = 3, .dim = kDim, .seed = 5, .type = type})) {}

  GridFormat format() const {
    return {.cells_per_grid = 9,
            .dim = kDim,
            .type = generated_.grids.type(),
            .embedding = {{"sha256", "0123456789abcdef"}, {"grid", "3"}, {"pooling", "align"}},
            .model = "somewhere/small.safetensors"};
  }

  // Generated grids [first, first + count).
  GridSetView some(std::size_t first, std::size_t count) const {
    GridSetView view = generated_.grids.view();
    view.cells = static_cast<const std::byte*>(view.cells) +
                 first * bytes_of_grid(view.type, view.cells_per_grid, view.dim);
    view.globals += first * view.dim;
    view.size = count;
    return view;
  }

  std::vector<NewItem> items(std::size_t first, std::size_t count) const {
    std::vector<NewItem> made;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::string name = "images/" + std::to_string(i) + ".jpg";
      made.push_back({name, label_word(generated_.labels[i]),
                      "{\"number\": " + std::to_string(i) + "}",
                      std::vector<std::uint8_t>(i, static_cast<std::uint8_t>(i))});
    }
    return made;
  }

  std::vector<std::int64_t> add(GridStore& gallery, std::size_t first, std::size_t count,
                                Duplicates duplicates = Duplicates::refuse) const {
    return gallery.add(items(first, count), some(first, count), duplicates);
  }

  std::shared_ptr<GridStore> filled(const std::string& name = "g") const {
    const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / name, format());
    add(*gallery, 0, kImages);
    return gallery;
  }

  const TemporaryFolder folder_;
  const GeneratedGrids generated_;
};

}  // namespace diml::test
