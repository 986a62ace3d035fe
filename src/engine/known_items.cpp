#include "engine/known_items.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/source_file.h"

namespace diml {
namespace {

constexpr std::size_t kAtOnce = 512;  // items of one transaction

bool gives_label(const ImageToAdd& image) { return image.gives_label || !image.item.label.empty(); }

// The order of names and the spaces do not count.
bool same_object(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto normal = [](const std::string& text) {
    return nlohmann::json::parse(text, nullptr, false);
  };
  return normal(a).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) ==
         normal(b).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::optional<ItemUpdate> words_update(const Item& there, const ImageToAdd& image) {
  ItemUpdate update{.id = there.id};
  if (gives_label(image) && image.item.label != there.label) update.label = image.item.label;
  if (!image.item.metadata.empty() && !same_object(image.item.metadata, there.metadata))
    update.metadata = image.item.metadata;
  if (!update.label && !update.metadata) return std::nullopt;
  return update;
}

void keep_words(const Item& there, const ImageToAdd& image, NewItem& item) {
  if (!gives_label(image)) item.label = there.label;
  if (image.item.metadata.empty()) item.metadata = there.metadata;
}

void update_in_parts(GridStore& gallery, std::span<const ItemUpdate> updates) {
  for (std::size_t first = 0; first < updates.size(); first += kAtOnce) {
    gallery.update(updates.subspan(first, std::min(kAtOnce, updates.size() - first)));
  }
}

void update_known(GridStore& gallery, std::span<const ImageToAdd> images,
                  std::span<const std::size_t> there, AddReport& report) {
  std::vector<ItemUpdate> updates;
  {
    const std::unique_ptr<GridSnapshot> snapshot = gallery.snapshot();
    for (const std::size_t image : there) {
      const ImageToAdd& given = images[image];
      const std::optional<std::int64_t> id = snapshot->find(given.item.path);
      if (!id) continue;  // removed by another process meanwhile
      const Item item = snapshot->item(*id);
      if (const std::optional<ItemUpdate> update = words_update(item, given))
        updates.push_back(*update);
      if (item.source && !given.file.empty() &&
          compare_with_file(*item.source, given.file).state == FileState::changed) {
        ++report.changed;
      }
    }
  }
  update_in_parts(gallery, updates);
  report.updated += updates.size();
}

}  // namespace diml
