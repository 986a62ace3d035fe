#include "engine/gallery_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/input_file.h"
#include "base/label_words.h"
#include "base/shown_text.h"
#include "base/system_error.h"
#include "diml/error.h"
#include "engine/grid_files.h"
#include "engine/known_items.h"
#include "search/item_metadata.h"
#include "search/name_json.h"

namespace diml {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Images of one transaction: enough that syncing costs little, few enough to hold in memory.
constexpr std::size_t kAtOnce = 512;

// "": there are none.
std::string globals_of(const std::string& prefix) {
  const std::string path = prefix + ".globals.npy";
  return fs::exists(path) ? path : "";
}

// A word, or a number; none where it is anything else.
std::optional<std::string> label_in(const nlohmann::json& line) {
  const nlohmann::json& json = line.at("label");
  if (json.is_null()) return "";
  if (json.is_number_integer()) return given_label(json.dump());
  const std::optional<std::string> word = name_in(line, "label");
  return word ? std::optional(given_label(*word)) : std::nullopt;
}

}  // namespace

EmbeddingSource::EmbeddingSource(const std::string& prefix, CellLayout layout)
    : cells_(prefix + ".cells.npy", globals_of(prefix), layout) {
  const std::size_t count = cells_.size();
  const std::string labels = prefix + ".labels.npy";
  labels_.resize(count);
  if (fs::exists(labels)) {
    const LoadedLabels loaded = load_labels(labels, count);
    for (std::size_t i = 0; i < count; ++i) labels_[i] = loaded.word_of(i);
  }
  if (const std::string path = prefix + ".paths.txt"; fs::exists(path)) {
    paths_ = read_names(path);
    if (paths_.size() != count) {
      throw Error(path + ": names " + std::to_string(paths_.size()) + " images where " +
                  std::to_string(count) + " are wanted: embed them again");
    }
    return;
  }
  const std::string name = fs::path(prefix).filename().string();
  for (std::size_t i = 0; i < count; ++i) paths_.push_back(name + ":" + std::to_string(i));
}

MetadataByPath load_metadata(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw system_error(path + ": cannot be opened", errno);
  MetadataByPath metadata;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const std::string where = path + ": line " + std::to_string(number);
    if (const auto excess = excess_of(line, {})) throw Error(where + " " + *excess);
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const bool has_label = json.is_object() && json.contains("label");
    const bool has_metadata = json.is_object() && json.contains("metadata");
    ItemWords words;
    if (has_label) words.label = label_in(json);
    const auto name = json.is_object() ? name_in(json, "path") : std::nullopt;
    if (has_metadata && json["metadata"].is_object()) {
      words.metadata = checked_metadata(json["metadata"].dump(), where);
    }
    if (!name || has_label != words.label.has_value() ||
        has_metadata != words.metadata.has_value() || !(has_label || has_metadata)) {
      throw Error(where +
                  " is not of the form {\"path\": \"a.jpg\", \"label\": \"pug\", \"metadata\": "
                  "{...}}, of which the label or the metadata may be absent");
    }
    metadata[*name] = std::move(words);
  }
  return metadata;
}

void put_words(MetadataByPath& metadata, const std::string& path, ImageToAdd& image) {
  const auto found = metadata.find(path);
  if (found == metadata.end()) return;
  ItemWords& words = found->second;
  words.used = true;
  if (words.label) {
    image.item.label = *words.label;
    image.gives_label = true;
  }
  if (words.metadata) image.item.metadata = *words.metadata;
}

std::size_t unused_lines(const MetadataByPath& metadata) {
  return static_cast<std::size_t>(std::count_if(
      metadata.begin(), metadata.end(), [](const auto& line) { return !line.second.used; }));
}

PathsToAdd paths_to_add(const GridSnapshot& snapshot, std::span<const ImageToAdd> images,
                        KnownPaths known) {
  PathsToAdd result;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::string& path = images[i].item.path;
    const bool twice = !seen.insert(path).second;
    const bool there = !twice && known == KnownPaths::skip && snapshot.find(path).has_value();
    if (there) result.there.push_back(i);
    if (there || twice) {
      ++result.known;
    } else {
      result.wanted.push_back(i);
    }
  }
  return result;
}

AddReport add_embeddings(GridStore& gallery, const EmbeddingSource& source,
                         MetadataByPath& metadata, KnownPaths known, const Progress& progress,
                         const Share& share) {
  std::vector<ImageToAdd> images;
  std::vector<std::size_t> places;  // in the source
  for (std::size_t i = 0; i < source.size(); ++i) {
    ImageToAdd image{"", {.path = source.path_of(i), .label = source.label_of(i)}};
    put_words(metadata, source.path_of(i), image);
    if (!share.has(image.item.path)) continue;
    images.push_back(std::move(image));
    places.push_back(i);
  }
  const PathsToAdd to_add = paths_to_add(*gallery.snapshot(), images, known);
  AddReport report;
  report.known = to_add.known;
  update_known(gallery, images, to_add.there, report);
  for (std::size_t first = 0; first < to_add.wanted.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, to_add.wanted.size() - first);
    GridSet grids(count, source.cells_per_grid(), source.dim(), gallery.format().type);
    std::vector<NewItem> items;
    for (std::size_t k = 0; k < count; ++k) {
      const ImageToAdd& image = images[to_add.wanted[first + k]];
      source.read(places[to_add.wanted[first + k]], grids, k);
      items.push_back(image.item);
      const std::unique_ptr<GridSnapshot> before = gallery.snapshot();
      const std::optional<std::int64_t> replaced = before->find(image.item.path);
      if (known != KnownPaths::replace || !replaced) continue;
      keep_words(before->item(*replaced), image, items.back());
      ++report.replaced;
    }
    gallery.add(items, grids.view(),
                known == KnownPaths::replace ? Duplicates::replace : Duplicates::refuse);
    report.added += count;
    const std::size_t done = first + count;
    progress(done, to_add.wanted.size());
    if (done < to_add.wanted.size() && progress.cancelled()) {
      report.cancelled = true;
      return report;
    }
  }
  return report;
}

void export_gallery(const GridSnapshot& snapshot, const std::string& prefix,
                    const Progress& progress) {
  const GridFormat& format = snapshot.format();
  const std::vector<std::int64_t> ids = snapshot.ids();
  const ArrayType type = format.type == CellType::float16 ? ArrayType::float16
                         : format.type == CellType::int8  ? ArrayType::int8
                                                          : ArrayType::float32;
  using Shape = std::vector<std::size_t>;
  NpyWriter cells(prefix + ".cells.npy", type,
                  Shape{ids.size(), format.cells_per_grid, format.dim});
  NpyWriter globals(prefix + ".globals.npy", ArrayType::float32, Shape{ids.size(), format.dim});
  std::vector<std::string> labels;
  OutputFile paths(prefix + ".paths.txt");
  OutputFile items(prefix + ".items.jsonl");
  std::vector<float> values(format.cells_per_grid * format.dim);
  for (std::size_t first = 0; first < ids.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, ids.size() - first);
    const std::span<const std::int64_t> some = std::span(ids).subspan(first, count);
    const std::vector<GridView> grids = snapshot.grids(some);
    const std::vector<Item> words = snapshot.items(some);
    for (std::size_t k = 0; k < count; ++k) {
      const GridView& grid = grids[k];
      if (format.type == CellType::int8) {
        cells.append(std::span(static_cast<const std::int8_t*>(grid.cells), values.size()));
      } else {
        for (std::size_t v = 0; v < values.size(); ++v)
          values[v] = grid.at(v / grid.dim, v % grid.dim);
        cells.append(values);
      }
      globals.append({grid.global, grid.dim});
      const Item& item = words[k];
      labels.push_back(item.label);
      paths.write(line_of_name(item.path) + "\n");
      Json line = {{"id", item.id}};
      put_name(line, "path", item.path);
      line["label"] = nullptr;
      if (!item.label.empty()) put_name(line, "label", item.label);
      // Not parsed as Json, whose time grows with the square of the names.
      line["metadata"] = nlohmann::json::parse(item.metadata);
      items.write(text_of_json(line) + "\n");
    }
    snapshot.end_views();
    progress(first + count, ids.size());
  }
  write_labels(prefix + ".labels.npy", labels);
  paths.commit();
  items.commit();
  globals.commit();
  cells.commit();
}

}  // namespace diml
