#include "engine/embed_items.h"

#include "diml/error.h"
#include "engine/known_items.h"
#include "engine/source_file.h"

namespace diml {
namespace {

// The squared distance of two unit vectors that are the same: a stored cell differs from its
// image's by the rounding of 16 bits and by the order in which another processor adds. Another
// photo differs by much more. A distance, as cells of a blank place may be zero.
constexpr double kSameDistance = 2e-4;

// k: which image of the batch.
bool is_grid_of(const GridView& stored, const EmbeddedBatch& batch, std::size_t k,
                std::size_t cells) {
  const std::size_t dim = stored.dim;
  GridSet made(1, cells, dim);  // normalises as the store's set did
  made.set(0, std::span(batch.cells).subspan(k * cells * dim, cells * dim),
           std::span(batch.globals).subspan(k * dim, dim));
  const GridView now = made[0];
  const auto is_same = [&](const auto& one, const auto& other) {
    double sum = 0.0;
    for (std::size_t d = 0; d < dim; ++d) {
      const double difference = static_cast<double>(one(d)) - static_cast<double>(other(d));
      sum += difference * difference;
    }
    return sum <= kSameDistance;
  };
  const auto global_of = [](const GridView& grid) {
    return [&grid](std::size_t d) { return grid.global[d]; };
  };
  if (!is_same(global_of(stored), global_of(now))) return false;
  for (std::size_t c = 0; c < cells; ++c) {
    const auto cell_of = [c](const GridView& grid) {
      return [&grid, c](std::size_t d) { return grid.at(c, d); };
    };
    if (!is_same(cell_of(stored), cell_of(now))) return false;
  }
  return true;
}

// What was seen of the files: by the decoding threads, each in its own place.
struct SeenFiles {
  std::vector<std::optional<SourceFile>> sources;  // before the embedding, glances
  std::vector<std::vector<std::uint8_t>> thumbnails;
};

// One chunk in the gallery.
void put_batch(GridStore& gallery, const Embedder& embedder, std::span<const ImageToEmbed> images,
               const EmbeddedBatch& batch, SeenFiles& seen, Duplicates duplicates,
               EmbedReport& report) {
  std::vector<NewItem> items;
  std::vector<std::size_t> places;  // in the batch
  std::vector<ItemUpdate> confirmed;
  {
    const std::unique_ptr<GridSnapshot> before = gallery.snapshot();
    for (std::size_t k = 0; k < batch.indices.size(); ++k) {
      const std::size_t index = batch.indices[k];
      const auto& [image, twin] = images[index];
      if (twin && before->contains(*twin) &&
          is_grid_of(before->grid(*twin), batch, k, embedder.cells_per_grid())) {
        ++report.confirmed;
        if (seen.sources[index]) confirmed.push_back({.id = *twin, .source = seen.sources[index]});
        continue;
      }
      NewItem item = image.item;
      item.thumbnail = std::move(seen.thumbnails[index]);
      item.source = seen.sources[index];
      if (const auto id = before->find(item.path); id && duplicates == Duplicates::replace) {
        keep_words(before->item(*id), image, item);
        ++report.replaced;
      }
      items.push_back(std::move(item));
      places.push_back(k);
    }
  }
  gallery.update(confirmed);
  if (items.empty()) return;
  GridSet grids(items.size(), embedder.cells_per_grid(), embedder.dim(), gallery.format().type);
  const std::size_t of_grid = grids.cells_per_grid() * grids.dim();
  for (std::size_t i = 0; i < places.size(); ++i) {
    grids.set(i, std::span(batch.cells).subspan(places[i] * of_grid, of_grid),
              std::span(batch.globals).subspan(places[i] * grids.dim(), grids.dim()));
  }
  gallery.add(items, grids.view(), duplicates);
  report.added += items.size();
}

}  // namespace

EmbedReport embed_items(GridStore& gallery, Embedder& embedder,
                        std::span<const ImageToEmbed> images, const AddImagesParams& params,
                        const Progress& progress) {
  std::vector<std::string> files;
  SeenFiles seen;
  seen.thumbnails.resize(images.size());
  for (const ImageToEmbed& one : images) {
    files.push_back(one.image.file);
    seen.sources.push_back(glance_at(one.image.file));
  }
  const Duplicates duplicates =
      params.known == KnownPaths::replace ? Duplicates::replace : Duplicates::refuse;
  EmbedReport report;
  const auto put = [&](const EmbeddedBatch& batch) {
    for (const BadImage& bad : batch.bad) report.bad.push_back(bad.why);
    put_batch(gallery, embedder, images, batch, seen, duplicates, report);
  };
  const auto see = [&](std::size_t index, const Image& whole) {
    seen.thumbnails[index] = make_thumbnail(whole);
    // The file was glanced at before it was decoded: a change since then leaves no source.
    if (std::optional<SourceFile>& source = seen.sources[index])
      source = source_of(files[index], *source);
  };
  try {
    embedder.embed_files(files, {.orientation = params.orientation, .bad = params.bad}, put,
                         progress, see);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled) throw;
    report.cancelled = true;  // what was put so far stays
  }
  return report;
}

}  // namespace diml
