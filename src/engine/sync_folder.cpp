#include "engine/sync_folder.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/enum_names.h"
#include "base/system_error.h"
#include "base/threads.h"
#include "datasets/images_below.h"
#include "diml/error.h"
#include "engine/known_items.h"
#include "engine/source_file.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

constexpr EnumNames<3> kFolderLabels = {"fill", "set", "ignore"};
constexpr EnumNames<8> kActions = {"add",   "replace", "compare",  "record",
                                   "touch", "label",   "metadata", "remove"};
constexpr std::size_t kAtOnce = 256;  // files between two reports of progress

// Without a slash at its end.
std::string place_of(const std::string& path) {
  std::string place = fs::absolute(path).lexically_normal().string();
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return place;
}

bool lies_below(const std::string& path, const std::string& folder) {
  const std::string start = folder == "/" ? folder : folder + "/";
  return path.starts_with(start);
}

// "pug" of "pug/day 1/7.jpg"; "" of a photo that lies in the folder itself.
std::string label_in(const std::string& below) {
  const std::size_t slash = below.find('/');
  return slash == std::string::npos ? "" : below.substr(0, slash);
}

struct Photo {
  std::string place;           // the path of its item, or of the one that it becomes
  std::string below;           // its path in the folder
  std::optional<Item> item{};  // none: it is new
  FileNow now{};               // where the item has a source
};

ImagesBelow images_of(const std::string& folder, SyncPlan& plan) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) {
    plan.folder_is_there = false;
    return {};
  }
  if (error) throw system_error(folder + ": cannot be read", error);
  if (!fs::is_directory(status))
    throw Error(folder + ": is not a folder: name the folder that the photos are in");
  return images_below(folder);
}

// The items of the folder, by their paths. An item with a relative path (from arrays) is one of
// them only where its photo exists, or was compared with it before.
std::unordered_map<std::string, Item> items_of(const GridSnapshot& gallery,
                                               const std::vector<Photo>& photos,
                                               const std::string& given, SyncPlan& plan) {
  std::unordered_map<std::string, Item> items;
  for (Item& item : gallery.items(gallery.ids())) {
    if (lies_below(item.path, plan.folder)) items.emplace(item.path, std::move(item));
  }
  if (!fs::path(given).is_absolute()) {
    for (const Photo& photo : photos) {
      const std::string relative = (fs::path(given) / photo.below).string();
      if (items.contains(photo.place)) continue;
      if (const auto id = gallery.find(relative)) items.emplace(photo.place, gallery.item(*id));
    }
  }
  plan.items = items.size();
  plan.elsewhere = gallery.size() - items.size();
  return items;
}

void compare_files(std::vector<Photo>& photos, int threads, const Progress& progress) {
  for (std::size_t first = 0; first < photos.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, photos.size() - first);
    parallel_for(count, 1, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = first + begin; k < first + end; ++k) {
        Photo& photo = photos[k];
        if (photo.item && photo.item->source)
          photo.now = compare_with_file(*photo.item->source, photo.place);
      }
    });
    progress(first + count, photos.size());
    progress.stop_if_cancelled();
  }
}

class Planner {
 public:
  Planner(SyncPlan& plan, MetadataByPath& metadata, const SyncParams& params)
      : plan_(plan), metadata_(metadata), params_(params) {}

  void plan(const Photo& photo) {
    ImageToAdd image{photo.place, {.path = photo.item ? photo.item->path : photo.place}};
    give_label(photo, image);
    for (const std::string& name : {photo.below, photo.place, image.item.path})
      put_words(metadata_, name, image);
    if (!photo.item) {
      step(SyncAction::add, image.item.path, image.item.label);
      plan_.to_embed.push_back({std::move(image)});
      return;
    }
    ItemUpdate update = plan_words(*photo.item, image);
    plan_content(photo, update);
    if (update.label || update.metadata || update.source)
      plan_.updates.push_back(std::move(update));
  }

  void plan_removals(const std::unordered_map<std::string, Item>& items,
                     const std::vector<Photo>& photos) {
    std::unordered_map<std::string, bool> seen;
    for (const Photo& photo : photos) seen[photo.place] = true;
    std::vector<std::pair<std::int64_t, std::string>> gone;
    for (const auto& [place, item] : items) {
      if (seen.contains(place)) continue;
      std::error_code error;
      const bool is_there = fs::exists(place, error);
      if (error) throw system_error(place + ": cannot be looked for", error);
      if (is_there) {
        ++plan_.unread;
      } else {
        gone.emplace_back(item.id, item.path);
      }
    }
    std::sort(gone.begin(), gone.end());
    for (const auto& [id, path] : gone) {
      step(SyncAction::remove, path);
      plan_.to_remove.push_back(id);
    }
  }

 private:
  void step(SyncAction action, const std::string& path, const std::string& detail = "") {
    plan_.steps.push_back({action, path, detail});
  }

  bool is_label_said(const Photo& photo) const {
    for (const std::string& name : {photo.below, photo.place, photo.item->path}) {
      const auto line = metadata_.find(name);
      if (line != metadata_.end() && line->second.label) return true;
    }
    return false;
  }

  void give_label(const Photo& photo, ImageToAdd& image) {
    const std::string label = label_in(photo.below);
    if (params_.labels == FolderLabels::ignore || label.empty()) return;
    const bool has_another = photo.item && !photo.item->label.empty() && photo.item->label != label;
    if (params_.labels == FolderLabels::fill && has_another) {
      if (!is_label_said(photo)) ++plan_.kept_labels;
      return;
    }
    image.item.label = label;
  }

  ItemUpdate plan_words(const Item& item, const ImageToAdd& image) {
    const auto named = [](const std::string& label) { return label.empty() ? "none" : label; };
    const ItemUpdate update = words_update(item, image).value_or(ItemUpdate{.id = item.id});
    if (update.label)
      step(SyncAction::label, item.path, named(item.label) + " -> " + named(*update.label));
    if (update.metadata) step(SyncAction::metadata, item.path);
    return update;
  }

  // An image that is embedded again keeps the words of its item, which are updated before.
  void plan_content(const Photo& photo, ItemUpdate& update) {
    const Item& item = *photo.item;
    const ImageToAdd again{photo.place, {.path = item.path}};
    if (item.source && !item.source->sha256.empty()) {
      if (photo.now.state == FileState::touched) {
        step(SyncAction::touch, item.path);
        update.source = photo.now.source;
      } else if (photo.now.state != FileState::unchanged) {
        step(SyncAction::replace, item.path);
        plan_.to_embed.push_back({again});
      }
      return;
    }
    if (params_.without_record == WithoutRecord::assume_unchanged) {
      const std::optional<SourceFile> glance = glance_at(photo.place);
      update.source = glance ? source_of(photo.place, *glance) : std::nullopt;
      step(SyncAction::record, item.path);
    } else {
      step(SyncAction::compare, item.path);
      plan_.to_embed.push_back({again, item.id});
    }
  }

  SyncPlan& plan_;
  MetadataByPath& metadata_;
  const SyncParams& params_;
};

}  // namespace

FolderLabels folder_labels_from(std::string_view name) {
  return value_in<FolderLabels>(kFolderLabels, name, "rule of labels");
}

const char* name_of(FolderLabels labels) { return name_in(kFolderLabels, labels); }

const char* name_of(SyncAction action) { return name_in(kActions, action); }

std::size_t SyncPlan::count(SyncAction action) const {
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [&](const SyncStep& step) { return step.action == action; }));
}

std::size_t SyncPlan::unchanged() const {
  return photos - count(SyncAction::add) - count(SyncAction::replace) - count(SyncAction::compare) -
         count(SyncAction::record);
}

SyncPlan plan_sync(const GridSnapshot& gallery, const std::string& folder, MetadataByPath& metadata,
                   const SyncParams& params, const Progress& progress) {
  SyncPlan plan;
  plan.folder = place_of(folder);
  ImagesBelow found = images_of(plan.folder, plan);
  plan.unreadable = std::move(found.unreadable);
  plan.photos = found.paths.size();
  std::vector<Photo> photos;
  const std::size_t start = plan.folder == "/" ? 1 : plan.folder.size() + 1;
  for (const std::string& path : found.paths) photos.push_back({path, path.substr(start)});
  const std::unordered_map<std::string, Item> items = items_of(gallery, photos, folder, plan);
  if (!plan.folder_is_there && items.empty()) {
    throw Error(ErrorKind::not_found,
                folder + ": is not there, and no image of the gallery came from it");
  }
  for (Photo& photo : photos) {
    if (const auto known = items.find(photo.place); known != items.end())
      photo.item = known->second;
  }
  compare_files(photos, params.threads, progress);
  Planner planner(plan, metadata, params);
  for (const Photo& photo : photos) planner.plan(photo);
  planner.plan_removals(items, photos);
  return plan;
}

void expect_few_removals(const SyncPlan& plan, Removals removals) {
  const std::size_t removed = plan.to_remove.size();
  if (removals == Removals::all || 2 * removed <= plan.items) return;
  const std::string what = !plan.folder_is_there ? "is not there"
                           : plan.photos == 0    ? "has no photos any more"
                                                 : "misses most photos";
  throw Error(ErrorKind::bad_input,
              plan.folder + ": " + what + ", so " + std::to_string(removed) + " of the " +
                  std::to_string(plan.items) +
                  " images that the gallery has from it would be removed: nothing was changed; "
                  "check that its disk is mounted and that the name is right",
              "force");
}

SyncReport apply_sync(GridStore& gallery, const SyncPlan& plan,
                      const std::function<Embedder()>& open, const SyncParams& params,
                      const Progress& progress) {
  expect_few_removals(plan, params.removals);
  std::optional<Embedder> embedder;
  if (!plan.to_embed.empty()) embedder = open();
  update_in_parts(gallery, plan.updates);
  gallery.remove(plan.to_remove);
  SyncReport report;
  if (!embedder) return report;
  EmbedReport embedded =
      embed_items(gallery, *embedder, plan.to_embed,
                  {Orientation::exif, params.bad, KnownPaths::replace}, progress);
  report.added = embedded.added - embedded.replaced;
  report.replaced = embedded.replaced;
  report.confirmed = embedded.confirmed;
  report.bad = std::move(embedded.bad);
  report.cancelled = embedded.cancelled;
  return report;
}

}  // namespace diml
