#include "diml/gallery_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/system_error.h"
#include "diml/error.h"
#include "diml/grid_files.h"

namespace diml {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Images of one transaction: enough that syncing costs little, few enough to hold in memory.
constexpr std::size_t kAtOnce = 512;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) lines.push_back(line);
  return lines;
}

void expect_floats(const NpyFile& file, std::size_t dimensions, const char* wanted) {
  if (file.type() != ArrayType::int64 && file.shape().size() == dimensions) return;
  throw Error(file.path() + ": is " + name_of(file.type()) + " " + shape_text(file.shape()) +
              " where float " + wanted + " is wanted");
}

}  // namespace

EmbeddingSource::EmbeddingSource(const std::string& prefix) : cells_(prefix + ".cells.npy") {
  expect_floats(cells_, 3, "[images, cells, dimensions]");
  check_grid_shape(cells_per_grid(), dim());
  const std::size_t count = cells_.shape()[0];
  if (const std::string path = prefix + ".globals.npy"; fs::exists(path)) {
    globals_ = std::make_unique<NpyFile>(path);
    expect_floats(*globals_, 2, "[images, dimensions]");
    if (globals_->shape()[0] != count || globals_->shape()[1] != dim()) {
      throw Error(path + ": is " + shape_text(globals_->shape()) + ", the cells are " +
                  shape_text(cells_.shape()) + ": embed both from the same images");
    }
  }
  const std::string labels = prefix + ".labels.npy";
  labels_ = fs::exists(labels) ? load_labels(labels, count) : std::vector<std::int64_t>(count, -1);
  if (const std::string path = prefix + ".paths.txt"; fs::exists(path)) {
    paths_ = lines_of(path);
    if (paths_.size() != count) {
      throw Error(path + ": names " + std::to_string(paths_.size()) + " images where " +
                  std::to_string(count) + " are wanted: embed them again");
    }
    return;
  }
  const std::string name = fs::path(prefix).filename().string();
  for (std::size_t i = 0; i < count; ++i) paths_.push_back(name + ":" + std::to_string(i));
}

void EmbeddingSource::read(std::size_t image, GridSet& grids, std::size_t place) const {
  std::vector<float> cells(cells_per_grid() * dim());
  std::vector<float> global(globals_ ? dim() : 0);
  cells_.read_floats(image * cells.size(), cells);
  if (globals_) globals_->read_floats(image * dim(), global);
  try {
    grids.set(place, cells, global);
  } catch (const Error& error) {
    throw with_context(error, cells_.path() + ": image " + std::to_string(image) + ": ");
  }
}

MetadataByPath load_metadata(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw system_error(path + ": cannot be opened", errno);
  MetadataByPath metadata;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("path") || !json["path"].is_string() ||
        !json.contains("metadata") || !json["metadata"].is_object()) {
      throw Error(path + ": line " + std::to_string(number) +
                  " is not of the form {\"path\": \"a.jpg\", \"metadata\": {...}}");
    }
    metadata[json["path"].get<std::string>()] = json["metadata"].dump();
  }
  return metadata;
}

PathsToAdd paths_to_add(const GridSnapshot& snapshot, const std::vector<std::string>& paths,
                        KnownPaths known) {
  PathsToAdd result;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!seen.insert(paths[i]).second ||
        (known == KnownPaths::skip && snapshot.find(paths[i]).has_value())) {
      ++result.known;
    } else {
      result.wanted.push_back(i);
    }
  }
  return result;
}

AddReport add_embeddings(GridStore& gallery, const EmbeddingSource& source,
                         const MetadataByPath& metadata, KnownPaths known, const GoOn& go_on) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < source.size(); ++i) paths.push_back(source.path_of(i));
  const PathsToAdd to_add = paths_to_add(*gallery.snapshot(), paths, known);
  AddReport report;
  report.known = to_add.known;
  for (std::size_t first = 0; first < to_add.wanted.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, to_add.wanted.size() - first);
    GridSet grids(count, source.cells_per_grid(), source.dim(), gallery.format().type);
    std::vector<NewItem> items;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t image = to_add.wanted[first + k];
      source.read(image, grids, k);
      const auto found = metadata.find(paths[image]);
      items.push_back(
          {paths[image], source.label_of(image), found == metadata.end() ? "" : found->second, {}});
      if (known == KnownPaths::replace && gallery.snapshot()->find(paths[image])) ++report.replaced;
    }
    gallery.add(items, grids.view(),
                known == KnownPaths::replace ? Duplicates::replace : Duplicates::refuse);
    report.added += count;
    if (go_on && !go_on(first + count, to_add.wanted.size())) {
      report.stopped = first + count < to_add.wanted.size();
      return report;
    }
  }
  return report;
}

void export_gallery(const GridSnapshot& snapshot, const std::string& prefix,
                    const Progress& progress) {
  const GridFormat& format = snapshot.format();
  const std::vector<std::int64_t> ids = snapshot.ids();
  const ArrayType type = format.type == CellType::float16 ? ArrayType::float16 : ArrayType::float32;
  using Shape = std::vector<std::size_t>;
  NpyWriter cells(prefix + ".cells.npy", type,
                  Shape{ids.size(), format.cells_per_grid, format.dim});
  NpyWriter globals(prefix + ".globals.npy", ArrayType::float32, Shape{ids.size(), format.dim});
  NpyWriter labels(prefix + ".labels.npy", ArrayType::int64, Shape{ids.size()});
  OutputFile paths(prefix + ".paths.txt");
  OutputFile items(prefix + ".items.jsonl");
  std::vector<float> values(format.cells_per_grid * format.dim);
  for (std::size_t first = 0; first < ids.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, ids.size() - first);
    for (std::size_t k = 0; k < count; ++k) {
      const GridView grid = snapshot.grid(ids[first + k]);
      for (std::size_t v = 0; v < values.size(); ++v)
        values[v] = grid.at(v / grid.dim, v % grid.dim);
      cells.append(values);
      globals.append({grid.global, grid.dim});
      const Item item = snapshot.item(ids[first + k]);
      labels.append(std::span(&item.label, 1));
      paths.write(item.path + "\n");
      const Json line = {{"id", item.id},
                         {"path", item.path},
                         {"label", item.label},
                         {"metadata", Json::parse(item.metadata)}};
      items.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
    if (progress) progress(first + count, ids.size());
  }
  labels.commit();
  paths.commit();
  items.commit();
  globals.commit();
  cells.commit();
}

}  // namespace diml
