#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "diml/gallery_images.h"
#include "engine/cell_files.h"
#include "engine/share.h"

namespace diml {

// Grids on disk as `diml embed` writes them: PREFIX.cells.npy, or feature maps of a network, and,
// where they are there, PREFIX.globals.npy, .labels.npy and .paths.txt. Without paths an image is
// called PREFIX:17.
class EmbeddingSource {
 public:
  explicit EmbeddingSource(const std::string& prefix, CellLayout layout = CellLayout::automatic);

  std::size_t size() const { return paths_.size(); }
  std::size_t cells_per_grid() const { return cells_.cells_per_grid(); }
  std::size_t dim() const { return cells_.dim(); }
  std::size_t rows() const { return cells_.rows(); }             // 0: unknown
  const std::string& layout() const { return cells_.layout(); }  // as it was understood
  const std::string& path_of(std::size_t image) const { return paths_[image]; }
  const std::string& label_of(std::size_t image) const { return labels_[image]; }

  // One grid, of any scale, into a set that makes it a unit one.
  void read(std::size_t image, GridSet& grids, std::size_t place) const {
    cells_.read(image, 1, grids, place);
  }

 private:
  CellFiles cells_;
  std::vector<std::string> paths_;
  std::vector<std::string> labels_;
};

// What a file says of an image; what it does not say is none.
struct ItemWords {
  std::optional<std::string> label{};     // "": no label
  std::optional<std::string> metadata{};  // a JSON object
  bool used = false;                      // by put_words()
};
using MetadataByPath = std::unordered_map<std::string, ItemWords>;

// A JSON object a line: {"path": "a.jpg", "label": "pug", "metadata": {...}}, of which the label or
// the metadata may be absent. "path_bytes" and "label_bytes" (base64) go before them, for names
// that are no UTF-8. Other names are passed over, so that what export_gallery() writes can be read
// again.
MetadataByPath load_metadata(const std::string& path);

// The label or metadata of the file in the place of the image's own. path: as the file calls it.
void put_words(MetadataByPath& metadata, const std::string& path, ImageToAdd& image);

// Lines of the file that no image has used: a path that is written in another way, or no image.
std::size_t unused_lines(const MetadataByPath& metadata);

// share: which of its images.
AddReport add_embeddings(GridStore& gallery, const EmbeddingSource& source,
                         MetadataByPath& metadata, KnownPaths known, const Progress& progress = {},
                         const Share& share = {});

// Which of the images are to be added, and which are there already.
struct PathsToAdd {
  std::vector<std::size_t> wanted;
  std::vector<std::size_t> there;  // each path once
  std::size_t known = 0;           // those, and the images that are listed twice
};
PathsToAdd paths_to_add(const GridSnapshot& snapshot, std::span<const ImageToAdd> images,
                        KnownPaths known);

// PREFIX.cells.npy, .globals.npy, .labels.npy, .paths.txt as `diml embed` writes them, and
// .items.jsonl with id, path, label and metadata, a line an image. base/shown_text.h says how a
// name with a line break stands in .paths.txt.
void export_gallery(const GridSnapshot& snapshot, const std::string& prefix,
                    const Progress& progress = {});

}  // namespace diml
