#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "diml/gallery_images.h"

namespace diml {

struct ImageToEmbed {
  ImageToAdd image;
  // An item of unknown source: it stays, with its id, where its grid is that of the image.
  std::optional<std::int64_t> compared_with{};
};

struct EmbedReport {
  std::size_t added = 0;      // all that are new in the gallery
  std::size_t replaced = 0;   // those of them that replaced another item
  std::size_t confirmed = 0;  // items that stay: their grids are those of the images
  std::vector<std::string> bad;
  bool cancelled = false;
};

// Chunk by chunk; each chunk is durable before its progress is reported. An image that replaces an
// item keeps its label and metadata where no others are given. Items get the source of their files.
EmbedReport embed_items(GridStore& gallery, Embedder& embedder,
                        std::span<const ImageToEmbed> images, const AddImagesParams& params,
                        const Progress& progress);

}  // namespace diml
