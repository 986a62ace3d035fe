#include "diml/gallery_images.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "diml/error.h"
#include "engine/embed_items.h"
#include "engine/gallery_files.h"
#include "engine/known_items.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

constexpr int kThumbnailQuality = 80;

}  // namespace

Embedder open_embedder_of(const GridStore& gallery, EmbeddingParams params) {
  const GridFormat& format = gallery.format();
  if (format.embedding.empty()) {
    throw Error(ErrorKind::bad_input,
                gallery.name() +
                    ": was built from arrays and does not know its model: search it with items of "
                    "its own or with grids, or build it again from photos",
                "ids");
  }
  const auto word = [&](const std::string& name) { return format.embedding.at(name); };
  try {
    const std::string grid = word("grid");
    std::from_chars(grid.data(), grid.data() + grid.size(), params.grid);
    params.pooling = pooling_rule_from(word("pooling"));
    params.projection = word("projection") == "yes";
    const auto preprocessing = preprocessing_in(format.embedding);
    if (!preprocessing) throw std::out_of_range("preprocessing");
    params.preprocessing = *preprocessing;
  } catch (const std::out_of_range&) {
    throw Error(gallery.name() + ": does not say how its images were embedded: build it again");
  }
  if (params.model.empty()) {
    params.model = format.model;
    if (!fs::exists(params.model)) {
      throw Error(ErrorKind::not_found,
                  params.model + ": the model of the gallery is not there any more", "model");
    }
  }
  Embedder embedder = open_embedder(params);
  expect_same_embedding(format, embedder.format(), "this");
  return embedder;
}

std::vector<std::uint8_t> make_thumbnail(const Image& image, std::size_t side) {
  const std::size_t longest = std::max(image.width, image.height);
  if (longest <= side) return encode_jpeg(image, kThumbnailQuality);
  const auto scaled = [&](std::size_t extent) {
    return std::max<std::size_t>(1, (extent * side + longest / 2) / longest);
  };
  return encode_jpeg(resize(image, scaled(image.width), scaled(image.height)), kThumbnailQuality);
}

AddReport add_images(GridStore& gallery, Embedder& embedder, std::span<const ImageToAdd> images,
                     const AddImagesParams& params, const Progress& progress) {
  const PathsToAdd to_add = paths_to_add(*gallery.snapshot(), images, params.known);
  AddReport report;
  report.known = to_add.known;
  update_known(gallery, images, to_add.there, report);
  std::vector<ImageToEmbed> wanted;
  for (const std::size_t image : to_add.wanted) wanted.push_back({images[image]});
  EmbedReport embedded = embed_items(gallery, embedder, wanted, params, progress);
  report.added = embedded.added;
  report.replaced = embedded.replaced;
  report.bad = std::move(embedded.bad);
  report.cancelled = embedded.cancelled;
  return report;
}

std::optional<AddReport> update_images(GridStore& gallery, std::span<const ImageToAdd> images) {
  const PathsToAdd to_add = paths_to_add(*gallery.snapshot(), images, KnownPaths::skip);
  if (!to_add.wanted.empty()) return std::nullopt;
  AddReport report;
  report.known = to_add.known;
  update_known(gallery, images, to_add.there, report);
  return report;
}

}  // namespace diml
