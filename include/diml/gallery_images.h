#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/embedder.h"
#include "diml/gallery.h"

namespace diml {

// The embedder of a gallery's images, for queries and for more images. The gallery defines how
// images become grids; `params` defines how the network runs, and the model's path where it is not
// "". Throws, with the remedy, where the model differs from the gallery's, and where the gallery
// has no record of its model.
Embedder open_embedder_of(const GridStore& gallery, EmbeddingParams params = {});

// JPEG, at most `side` pixels wide and high.
constexpr std::size_t kThumbnailSide = 320;
std::vector<std::uint8_t> make_thumbnail(const Image& image, std::size_t side = kThumbnailSide);

struct ImageToAdd {
  std::string file;  // where it is read
  NewItem item;      // add_images makes its thumbnail and its source
  // Whether an empty item.label removes the label of an item that is there; else it changes
  // nothing.
  bool gives_label = false;
};

// What happens to images whose path is in the gallery already.
enum class KnownPaths : std::uint8_t { skip, replace };

struct AddImagesParams {
  Orientation orientation = Orientation::as_stored;
  BadImages bad = BadImages::stop;
  KnownPaths known = KnownPaths::skip;
};

struct AddReport {
  std::size_t added = 0;         // all that are new in the gallery
  std::size_t replaced = 0;      // those of them that replaced another item
  std::size_t known = 0;         // not embedded: in the gallery already, or listed twice
  std::size_t updated = 0;       // those of them that got another label or metadata
  std::size_t changed = 0;       // those of them whose files changed since they were embedded
  std::vector<std::string> bad;  // why images could not be read; they are left out
  bool cancelled = false;
};

// Chunk by chunk; each chunk is durable before its progress is reported. Each file is decoded once,
// for its grid and its thumbnail. Where progress.cancelled(), the images added so far stay. Items
// that are there already get the label and the metadata that are given ("" is not given) and are
// not embedded; items that are replaced keep theirs where none are given.
AddReport add_images(GridStore& gallery, Embedder& embedder, std::span<const ImageToAdd> images,
                     const AddImagesParams& params, const Progress& progress = {});

// The same where all images are in the gallery: no network is needed. None, and nothing is changed,
// where one of them is not.
std::optional<AddReport> update_images(GridStore& gallery, std::span<const ImageToAdd> images);

}  // namespace diml
