#include "diml/gallery_embedder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "diml/error.h"
#include "diml/open_network.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

constexpr int kThumbnailQuality = 80;

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
  GridFormat format;
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

OpenedEmbedder open_embedder_of(const GridStore& gallery, EmbedderSettings settings) {
  const GridFormat& format = gallery.format();
  if (format.embedding.empty()) {
    throw Error(gallery.name() +
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
    throw Error(gallery.name() + ": does not say how its images were embedded: build it again");
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

AddReport add_images(GridStore& gallery, Embedder& embedder, std::span<const ImageToAdd> images,
                     const AddImagesParams& params, const GoOn& go_on) {
  std::vector<std::string> paths;
  for (const ImageToAdd& image : images) paths.push_back(image.item.path);
  const PathsToAdd to_add = paths_to_add(*gallery.snapshot(), paths, params.known);
  const std::vector<std::size_t>& wanted = to_add.wanted;
  std::vector<std::string> files;
  for (const std::size_t image : wanted) files.push_back(images[image].file);
  std::vector<std::vector<std::uint8_t>> thumbnails(wanted.size());
  const bool replaces = params.known == KnownPaths::replace;
  AddReport report;
  report.known = to_add.known;
  const auto add = [&](const EmbeddedBatch& batch) {
    for (const BadImage& bad : batch.bad) report.bad.push_back(bad.why);
    std::vector<NewItem> items;
    for (const std::size_t index : batch.indices) {
      items.push_back(images[wanted[index]].item);
      items.back().thumbnail = std::move(thumbnails[index]);
    }
    if (replaces) {
      const std::unique_ptr<GridSnapshot> before = gallery.snapshot();
      for (const NewItem& item : items) report.replaced += before->find(item.path) ? 1 : 0;
    }
    if (!items.empty()) {
      GridSet grids(items.size(), embedder.cells_per_grid(), embedder.dim(), gallery.format().type);
      put_grids(batch, grids, 0);
      gallery.add(items, grids.view(), replaces ? Duplicates::replace : Duplicates::refuse);
    }
    report.added += items.size();
    const std::size_t done = batch.first + batch.count;
    if (!go_on || go_on(done, wanted.size())) return true;
    report.stopped = done < wanted.size();
    return false;
  };
  embedder.embed_files(
      files, params.orientation, params.bad, add,
      [&](std::size_t index, const Image& whole) { thumbnails[index] = make_thumbnail(whole); });
  return report;
}

}  // namespace diml
