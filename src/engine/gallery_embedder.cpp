#include "diml/gallery_embedder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "diml/error.h"
#include "diml/input_file.h"
#include "diml/open_network.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

// Images that are decoded together, and become durable together.
constexpr std::size_t kStretch = 32;
constexpr int kThumbnailQuality = 80;

struct Decoded {
  Image image;  // no larger than the network needs it
  std::vector<std::uint8_t> thumbnail;
};

// The short side that the embedder would make of it anyway: a stretch of large photos would not fit
// into memory.
Decoded decode(const ImageToAdd& image, const AddImagesParams& params, std::size_t short_side) {
  const Image whole = read_image(image.file, {.orientation = params.orientation});
  return {resize_short_side(whole, short_side), make_thumbnail(whole)};
}

}  // namespace

OpenedEmbedder open_embedder(const EmbedderSettings& settings) {
  OpenNetworkParams params;
  params.network.device = settings.device;
  params.network.precision = precision_from(settings.precision);
  params.network.projection = settings.projection;
  params.network.threads = settings.threads;
  params.backend = settings.backend;
  params.preprocessing = settings.preprocessing;
  OpenedNetwork opened = open_network(settings.model, params);
  GalleryFormat format;
  format.model = fs::absolute(located_model(settings.model)).lexically_normal().string();
  format.embedding = to_text(opened.preprocessing);
  format.embedding["sha256"] = opened.fingerprint;
  format.embedding["grid"] = std::to_string(settings.grid);
  format.embedding["pooling"] = name_of(settings.pooling);
  format.embedding["projection"] = settings.projection ? "yes" : "no";
  const std::size_t batch = settings.batch == 0 ? default_batch(settings.device) : settings.batch;
  Embedder embedder(std::move(opened.network), opened.preprocessing,
                    {settings.grid, settings.pooling, batch, settings.threads});
  format.cells_per_grid = embedder.cells_per_grid();
  format.dim = embedder.dim();
  return {std::move(embedder), std::move(format)};
}

OpenedEmbedder open_embedder_of(const Gallery& gallery, EmbedderSettings settings) {
  const GalleryFormat& format = gallery.format();
  if (format.embedding.empty()) {
    throw Error(gallery.folder() +
                ": was built from files and does not know by which model: search it by --id or "
                "--embeddings, or build it again with --model");
  }
  const auto word = [&](const std::string& name) { return format.embedding.at(name); };
  try {
    const std::string grid = word("grid");
    std::from_chars(grid.data(), grid.data() + grid.size(), settings.grid);
    settings.pooling = pooling_rule_from(word("pooling"));
    settings.projection = word("projection") == "yes";
    settings.preprocessing.clear();
    const Preprocessing defaults;
    for (const auto& [name, value] : to_text(defaults)) settings.preprocessing[name] = word(name);
  } catch (const std::out_of_range&) {
    throw Error(gallery.folder() + ": does not say how its images were embedded: build it again");
  }
  if (settings.model.empty()) {
    settings.model = format.model;
    if (!fs::exists(settings.model)) {
      throw Error(settings.model +
                  ": the model of the gallery is not there any more: say where it "
                  "is with --model");
    }
  }
  OpenedEmbedder opened = open_embedder(settings);
  expect_same_embedding(format, opened.format, "this");
  return opened;
}

std::vector<std::uint8_t> make_thumbnail(const Image& image) {
  const std::size_t longest = std::max(image.width, image.height);
  if (longest <= kThumbnailSide) return encode_jpeg(image, kThumbnailQuality);
  const auto scaled = [&](std::size_t side) {
    return std::max<std::size_t>(1, (side * kThumbnailSide + longest / 2) / longest);
  };
  return encode_jpeg(resize(image, scaled(image.width), scaled(image.height)), kThumbnailQuality);
}

GridSet embed_for(const GalleryFormat& format, Embedder& embedder, std::span<const Image> images) {
  const std::size_t of_grid = embedder.cells_per_grid() * embedder.dim();
  std::vector<float> cells(images.size() * of_grid);
  std::vector<float> globals(images.size() * embedder.dim());
  embedder.embed(images, cells, globals);
  GridSet grids(images.size(), embedder.cells_per_grid(), embedder.dim(), format.type);
  for (std::size_t i = 0; i < images.size(); ++i) {
    grids.set(i, std::span(cells).subspan(i * of_grid, of_grid),
              std::span(globals).subspan(i * embedder.dim(), embedder.dim()));
  }
  return grids;
}

AddReport add_images(Gallery& gallery, Embedder& embedder, std::span<const ImageToAdd> images,
                     const AddImagesParams& params, const GoOn& go_on) {
  std::vector<std::string> paths;
  for (const ImageToAdd& image : images) paths.push_back(image.item.path);
  const PathsToAdd to_add = paths_to_add(gallery.snapshot(), paths, params.known);
  const std::vector<std::size_t>& wanted = to_add.wanted;
  AddReport report;
  report.known = to_add.known;
  for (std::size_t first = 0; first < wanted.size(); first += kStretch) {
    const std::size_t count = std::min(kStretch, wanted.size() - first);
    std::vector<Decoded> decoded(count);
    std::vector<std::optional<std::string>> failures(count);
    parallel_for(count, 1, params.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        try {
          decoded[i] = decode(images[wanted[first + i]], params, embedder.preprocessing().resize);
        } catch (const Error& error) {
          failures[i] = error.what();
        }
      }
    });
    for (std::size_t k = first + count; k < std::min(first + 2 * count, wanted.size()); ++k) {
      ask_for_file(images[wanted[k]].file);
    }
    std::vector<Image> good;
    std::vector<NewItem> items;
    for (std::size_t i = 0; i < count; ++i) {
      if (failures[i]) {
        if (params.bad == BadImages::stop) {
          throw Error(*failures[i] + " (--skip-bad goes on without it)");
        }
        report.bad.push_back(*failures[i]);
        continue;
      }
      good.push_back(std::move(decoded[i].image));
      items.push_back(images[wanted[first + i]].item);
      items.back().thumbnail = std::move(decoded[i].thumbnail);
    }
    if (params.known == KnownPaths::replace) {
      const GallerySnapshot before = gallery.snapshot();
      for (const NewItem& item : items) report.replaced += before.find(item.path) ? 1 : 0;
    }
    if (!items.empty()) {
      const GridSet grids = embed_for(gallery.format(), embedder, good);
      gallery.add(items, grids.view(),
                  params.known == KnownPaths::replace ? Duplicates::replace : Duplicates::refuse);
    }
    report.added += items.size();
    if (go_on && !go_on(first + count, wanted.size())) {
      report.stopped = first + count < wanted.size();
      return report;
    }
  }
  return report;
}

}  // namespace diml
