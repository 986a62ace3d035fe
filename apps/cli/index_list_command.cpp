#include <algorithm>
#include <cstdio>

#include "base/shown_text.h"
#include "gallery_command.h"
#include "search/admitted_items.h"
#include "search/name_json.h"
#include "where_hint.h"

namespace diml::cli {
namespace {

struct ListItems {
  std::string gallery;
  std::vector<std::string> where;
  std::string json;

  void run() const;
};

constexpr std::size_t kAtOnce = 1000;

// body(items) for all ids, in parts.
void in_parts(const GridSnapshot& snapshot, std::span<const std::int64_t> ids,
              const std::function<void(const std::vector<Item>&)>& body) {
  for (std::size_t first = 0; first < ids.size(); first += kAtOnce) {
    body(snapshot.items(ids.subspan(first, std::min(kAtOnce, ids.size() - first))));
  }
}

Json to_json(const Item& item) {
  Json json = {{"id", item.id}};
  put_name(json, "path", item.path);
  json["label"] = nullptr;
  if (!item.label.empty()) put_name(json, "label", item.label);
  json["metadata"] = nlohmann::json::parse(item.metadata);
  return json;
}

void print(const std::vector<Item>& items) {
  for (const Item& item : items) {
    const std::string metadata = item.metadata == "{}" ? "" : "  " + shown(item.metadata);
    std::printf("%8lld  %s  %s%s\n", static_cast<long long>(item.id),
                item.label.empty() ? "-" : shown(item.label).c_str(), shown(item.path).c_str(),
                metadata.c_str());
  }
}

void ListItems::run() const {
  const Filter filter{where};
  JsonOutput output(json);
  const std::shared_ptr<GridStore> from = open_gallery(gallery);
  const std::unique_ptr<GridSnapshot> snapshot = from->snapshot();
  const std::vector<std::int64_t> ids =
      filter.empty() ? snapshot->ids() : *AdmittedItems().of(filter, *snapshot);
  Json images = Json::array();
  in_parts(*snapshot, ids, [&](const std::vector<Item>& items) {
    if (!output.takes_standard_output()) print(items);
    if (json.empty()) return;
    for (const Item& item : items) images.push_back(to_json(item));
  });
  output.write({{"gallery", from->name()}, {"items", ids.size()}, {"images", std::move(images)}});
  if (ids.empty() && !filter.empty()) {
    tell_at_end("no image of " + shown_gallery(gallery) + " satisfies " + filter.text() +
                hint_of_conditions(filter, *snapshot));
  }
}

}  // namespace

void define_index_list(CLI::App& command, Run& chosen) {
  auto options = std::make_shared<ListItems>();
  command.add_option("gallery", options->gallery, kGalleryHelp)->required();
  command.add_option("--where", options->where,
                     "Only images that satisfy this, such as label=pug or 'price<=20'; may be "
                     "repeated: all must hold");
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer("Example:\n  diml index list photos.gallery --where label=pug");
  command.callback([options, &chosen] { chosen = [options] { options->run(); }; });
}

}  // namespace diml::cli
