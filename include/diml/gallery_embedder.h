#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "diml/embedder.h"
#include "diml/gallery.h"
#include "diml/gallery_files.h"

namespace diml {

// How images become grids, and how that is run.
struct EmbedderSettings {
  std::string model;
  std::size_t grid = 4;
  PoolingRule pooling = PoolingRule::align;
  bool projection = true;
  std::map<std::string, std::string> preprocessing{};  // overrides, as in from_text
  // From here on the numbers differ by rounding at most: a gallery does not ask.
  std::string backend = "auto";
  std::string precision = "float32";
  std::string device = "cpu";
  std::size_t batch = 0;  // 0: what suits the device
  int threads = 0;
};

struct OpenedEmbedder {
  Embedder embedder;
  GridFormat format;  // of a gallery of its grids, cells of the default type
};

OpenedEmbedder open_embedder(const EmbedderSettings& settings);

// The one that a gallery's images went through, for queries and for more images. Of the settings
// only how it is run counts, and the model's place where that is not "". Throws, with the remedy,
// where it is another model, and where the gallery does not know its own.
OpenedEmbedder open_embedder_of(const GridStore& gallery, EmbedderSettings settings);

// JPEG, as large as fits into kThumbnailSide pixels square.
constexpr std::size_t kThumbnailSide = 160;
std::vector<std::uint8_t> make_thumbnail(const Image& image);

struct ImageToAdd {
  std::string file;  // where it is read
  NewItem item;      // its thumbnail is made here
};

struct AddImagesParams {
  Orientation orientation = Orientation::as_stored;
  BadImages bad = BadImages::stop;
  KnownPaths known = KnownPaths::skip;
};

// A stretch of the embedder's at a time, each durable as a whole. Each file is decoded once, for
// its grid and its thumbnail.
AddReport add_images(GridStore& gallery, Embedder& embedder, std::span<const ImageToAdd> images,
                     const AddImagesParams& params, const GoOn& go_on = {});

}  // namespace diml
