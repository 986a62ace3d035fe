#include "search_queries.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "engine/gallery_files.h"
#include "gallery_command.h"
#if DIML_HAS_NETWORKS
#include "base/image_names.h"
#include "diml/gallery_images.h"
#include "network_options.h"
#endif

namespace diml::cli {
namespace {

constexpr std::size_t kAtOnce = 64;  // enough that a pass over the gallery pays

// body(first, count) for all parts of `total`.
void in_parts(std::size_t total, const Progress& progress,
              const std::function<void(std::size_t first, std::size_t count)>& body) {
  for (std::size_t first = 0; first < total; first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, total - first);
    body(first, count);
    progress(first + count, total);
    if (first + count < total) progress.stop_if_cancelled();
  }
}

}  // namespace

void ask_items(const GridSnapshot& snapshot, const std::vector<std::int64_t>& ids,
               const TakeBatch& take, const Progress& progress) {
  (void)snapshot.items(ids);  // a wrong one is refused at once
  in_parts(ids.size(), progress, [&](std::size_t first, std::size_t count) {
    const std::span<const std::int64_t> some = std::span(ids).subspan(first, count);
    const std::vector<GridView> grids = snapshot.grids(some);
    QueryBatch batch{set_of(grids), {}, {}, {some.begin(), some.end()}};
    for (Item& item : snapshot.items(some)) batch.names.push_back(std::move(item.path));
    batch.thumbnails = snapshot.thumbnails(some);
    take(batch);
    snapshot.end_views();
  });
}

void ask_embeddings(const GridStore& gallery, const std::string& prefix, CellLayout layout,
                    const TakeBatch& take, const Progress& progress) {
  const EmbeddingSource source(prefix, layout);
  tell_layout(source);
  in_parts(source.size(), progress, [&](std::size_t first, std::size_t count) {
    GridSet grids(count, source.cells_per_grid(), source.dim(), gallery.format().type);
    QueryBatch batch;
    for (std::size_t i = 0; i < count; ++i) {
      source.read(first + i, grids, i);
      batch.names.push_back(source.path_of(first + i));
    }
    batch.thumbnails.resize(count);
    batch.grids = grids.view();
    take(batch);
  });
}

#if DIML_HAS_NETWORKS

namespace {

namespace fs = std::filesystem;

// Every format of photos has bytes that no text has.
bool is_list(const std::string& path) {
  if (!fs::is_regular_file(path) || is_image_name(path) || is_unreadable_image_name(path)) {
    return false;
  }
  std::array<char, 4096> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return std::all_of(head.begin(), head.begin() + file.gcount(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

std::vector<std::string> photos_of(const std::vector<std::string>& given) {
  std::vector<std::string> photos;
  for (const std::string& one : given) {
    if (!fs::is_directory(one) && !is_list(one)) {
      photos.push_back(one);
      continue;
    }
    ImageOptions several;
    several.images = one;
    const std::vector<std::string> paths = several.load().paths;
    photos.insert(photos.end(), paths.begin(), paths.end());
  }
  return photos;
}

void ask_photos(Embedder& embedder, CellType type, const std::vector<std::string>& photos,
                const PhotoQueries& params, const TakeBatch& take, const Progress& progress,
                std::vector<std::string>& why_bad) {
  std::vector<std::vector<std::uint8_t>> thumbnails(params.thumbnails ? photos.size() : 0);
  SeeImage see;
  if (params.thumbnails) {
    see = [&](std::size_t i, const Image& whole) { thumbnails[i] = make_thumbnail(whole); };
  }
  const auto sink = [&](const EmbeddedBatch& embedded) {
    for (const BadImage& bad : embedded.bad) why_bad.push_back(bad.why);
    if (embedded.indices.empty()) return;
    GridSet grids(embedded.indices.size(), embedder.cells_per_grid(), embedder.dim(), type);
    put_grids(embedded, grids, 0);
    QueryBatch batch;
    batch.grids = grids.view();
    for (const std::size_t i : embedded.indices) {
      batch.names.push_back(photos[i]);
      batch.thumbnails.push_back(params.thumbnails ? std::move(thumbnails[i])
                                                   : std::vector<std::uint8_t>());
    }
    take(batch);
  };
  embedder.embed_files(photos, {.orientation = Orientation::exif, .bad = params.bad}, sink,
                       progress, see);
}

#endif

}  // namespace diml::cli
