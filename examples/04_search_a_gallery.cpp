// A gallery on disk: what is added outlives the process, and is searched while others add to it.
#include <cstdio>
#include <filesystem>

#include <diml/gallery.h>
#include <diml/generated.h>
#include <diml/searcher.h>

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "diml_example_04";
  std::filesystem::remove_all(folder);  // of an earlier run
  const diml::GeneratedGrids images =
      diml::generate_grids({.size = 500, .classes = 25, .type = diml::CellType::float16});
  const std::shared_ptr<diml::GridStore> gallery =
      diml::create_gallery(folder.string(), {.cells_per_grid = 16, .dim = 128});

  std::vector<diml::NewItem> items;
  for (std::size_t i = 0; i < 500; ++i) {
    items.push_back(
        {.path = "image" + std::to_string(i) + ".jpg", .label = std::to_string(images.labels[i])});
  }
  gallery->add(items, images.grids.view());  // durable when it returns

  const diml::Searcher search(gallery);
  diml::GridSetView query = images.grids.view();
  query.size = 1;
  const auto hits = search.search(query, 5).front();
  for (const diml::Hit& hit : hits) {
    std::printf("%-12s class %2s: %.4f = global %.4f + structural %.4f\n", hit.item.path.c_str(),
                hit.item.label.c_str(), static_cast<double>(hit.total),
                static_cast<double>(hit.global), static_cast<double>(*hit.structural));
  }
  return hits[0].item.id == 0 ? 0 : 1;
}
