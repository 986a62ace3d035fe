#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "diml/gallery.h"
#include "diml/npy.h"

namespace diml {

// What happens to images whose path is in the gallery already.
enum class KnownPaths : std::uint8_t { skip, replace };

struct AddReport {
  std::size_t added = 0;         // all that are new in the gallery
  std::size_t replaced = 0;      // those of them that took the place of others
  std::size_t known = 0;         // that were there, or were named twice, and were skipped
  std::vector<std::string> bad;  // why those that could not be read were left out
  bool stopped = false;          // as go_on() wished
};

// Called when a stretch is durable; whether to go on.
using GoOn = std::function<bool(std::size_t done, std::size_t total)>;

// Grids on disk as `diml embed` writes them: PREFIX.cells.npy and, where they are there,
// PREFIX.globals.npy, .labels.npy and .paths.txt. Without paths an image is called PREFIX:17.
class EmbeddingSource {
 public:
  explicit EmbeddingSource(const std::string& prefix);

  std::size_t size() const { return paths_.size(); }
  std::size_t cells_per_grid() const { return cells_.shape()[1]; }
  std::size_t dim() const { return cells_.shape()[2]; }
  const std::string& path_of(std::size_t image) const { return paths_[image]; }
  std::int64_t label_of(std::size_t image) const { return labels_[image]; }

  // One grid, of any scale, into a set that makes it a unit one.
  void read(std::size_t image, GridSet& grids, std::size_t place) const;

 private:
  NpyFile cells_;
  std::unique_ptr<NpyFile> globals_;  // null: means of the cells
  std::vector<std::string> paths_;
  std::vector<std::int64_t> labels_;
};

// JSON objects by path.
using MetadataByPath = std::unordered_map<std::string, std::string>;

// A JSON object a line, {"path": "a.jpg", "metadata": {...}}; other names are passed over, so that
// what export_gallery() writes can be read again.
MetadataByPath load_metadata(const std::string& path);

AddReport add_embeddings(GridStore& gallery, const EmbeddingSource& source,
                         const MetadataByPath& metadata, KnownPaths known, const GoOn& go_on = {});

// Which of the paths are to be added, and how many of those take the place of others.
struct PathsToAdd {
  std::vector<std::size_t> wanted;
  std::size_t known = 0;
};
PathsToAdd paths_to_add(const GridSnapshot& snapshot, const std::vector<std::string>& paths,
                        KnownPaths known);

// PREFIX.cells.npy, .globals.npy, .labels.npy, .paths.txt as `diml embed` writes them, and
// .items.jsonl with id, path, label and metadata, a line an image.
void export_gallery(const GridSnapshot& snapshot, const std::string& prefix,
                    const Progress& progress = {});

}  // namespace diml
