#include "engine/projection.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr std::uint64_t kCells = 11;  // so that the draws repeat no other kind of randomness

// How many cells the i-th photo of `photos` gives: as even as whole numbers can be.
std::size_t quota_of(std::size_t i, std::size_t photos, std::size_t cells) {
  return (i + 1) * cells / photos - i * cells / photos;
}

// `count` of the cells of a grid, none twice.
std::vector<std::size_t> drawn_cells(std::size_t count, std::size_t cells, std::uint64_t seed) {
  std::vector<std::size_t> places(cells);
  std::iota(places.begin(), places.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t k = 0; k < count; ++k) std::swap(places[k], places[k + random.below(cells - k)]);
  places.resize(count);
  return places;
}

// What is said of the projection that is replaced goes with it.
void tell_origin(Model& model, const std::string& projection) {
  const std::string mark = "; projection: ";
  model.provenance = model.provenance.substr(0, model.provenance.find(mark)) + mark + projection;
  model.calibration.reset();  // it was for the other projection
}

}  // namespace

PcaOfPhotos pca_of_photos(Embedder& embedder, std::span<const std::string> paths,
                          const PcaParams& params, const Progress& progress,
                          const Progress& on_directions) {
  const std::size_t dim = embedder.dim();
  const std::size_t of_grid = embedder.cells_per_grid();
  if (params.dim < 1 || params.dim > dim) {
    throw Error("the network's map has " + std::to_string(dim) + " channels: they have 1 to " +
                std::to_string(dim) + " principal directions, not " + std::to_string(params.dim));
  }
  const std::size_t wanted = std::min(params.cells, paths.size() * of_grid);
  if (wanted < params.dim) {
    throw Error(std::to_string(wanted) + " cells of " + std::to_string(paths.size()) +
                " photos are too few for " + std::to_string(params.dim) +
                " directions: take more photos, or fewer dimensions");
  }
  // Places among all photos: a photo that cannot be read does not change which cells of the others
  // are taken.
  std::vector<std::size_t> chosen;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (quota_of(i, paths.size(), wanted) == 0) continue;
    chosen.push_back(i);
    files.push_back(paths[i]);
  }
  PcaOfPhotos result;
  SecondMoment moment(dim, params.threads);
  const auto take = [&](const EmbeddedBatch& batch) {
    for (std::size_t k = 0; k < batch.indices.size(); ++k) {
      const std::size_t photo = chosen[batch.indices[k]];
      for (const std::size_t cell : drawn_cells(quota_of(photo, paths.size(), wanted), of_grid,
                                                mixed_seed(params.seed, kCells, photo))) {
        moment.add({&batch.cells[(k * of_grid + cell) * dim], dim});
      }
    }
    result.photos += batch.indices.size();
    for (const BadImage& image : batch.bad) result.bad.push_back(image.why);
  };
  embedder.embed_files(files, {.orientation = params.orientation, .bad = params.bad}, take,
                       progress);
  if (result.photos == 0) throw Error("none of the photos could be read");
  result.cells = moment.count();
  result.directions =
      principal_directions(moment, {.count = params.dim, .threads = params.threads}, on_directions);
  return result;
}

Model projected(Model model, const PcaOfPhotos& pca) {
  const PrincipalDirections& directions = pca.directions;
  const std::size_t channels = make_architecture(model.architecture, model.stride).channels();
  if (directions.dim != channels) {
    throw Error("directions of " + std::to_string(directions.dim) +
                " dimensions do not fit a map of " + std::to_string(channels) +
                " channels: embed without projection");
  }
  const std::size_t dim = directions.count();
  model.tensors["projection.weight"] = make_tensor({dim, channels}, directions.rows);
  model.tensors["projection.bias"] = make_tensor({dim}, std::vector<float>(dim, 0.0F));
  char kept[32];
  std::snprintf(kept, sizeof kept, "%.2f %%", 100.0 * directions.kept);
  tell_origin(model, "PCA of " + std::to_string(pca.cells) + " cells of " +
                         std::to_string(pca.photos) + " photos, keeps " + kept);
  return model;
}

Model randomly_projected(Model model, std::size_t dim, std::uint64_t seed) {
  add_projection(model, dim, starting_seed(seed));
  tell_origin(model, "random, seed " + std::to_string(seed));
  return model;
}

}  // namespace diml
