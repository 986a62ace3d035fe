#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diml/embedder.h"
#include "diml/progress.h"
#include "models/model.h"
#include "models/principal_directions.h"

namespace diml {

// Projections without training: a baseline for trained ones of the same number of dimensions.

struct PcaParams {
  std::size_t dim = 128;       // paper, section 4.2
  std::size_t cells = 50'000;  // that are looked at, spread over the photos
  std::uint64_t seed = 0;      // of which cells
  Orientation orientation = Orientation::as_stored;
  BadImages bad = BadImages::stop;
  int threads = 0;
};

// The principal directions of the cells of photos.
struct PcaOfPhotos {
  PrincipalDirections directions;
  std::size_t photos = 0;  // with a cell among those that were looked at
  std::size_t cells = 0;
  std::vector<std::string> bad;  // why photos were left out
};

// PCA of unit cells about the origin. Of all projections to this number of dimensions it changes
// the dot products of cells least (in the sum of squares, before cells become unit vectors again).
// PCA about the mean would keep the dot products of differences from the mean, which matching does
// not use. embedder: the network without a projection, with the grid whose cells are used. Photos
// of which no cell is drawn are not read. on_directions: the search for them, after the photos.
PcaOfPhotos pca_of_photos(Embedder& embedder, std::span<const std::string> paths,
                          const PcaParams& params = {}, const Progress& progress = {},
                          const Progress& on_directions = {});

// The model with these directions in place of its projection, without bias.
Model projected(Model model, const PcaOfPhotos& pca);

// The model with the initial projection of a training run of this seed.
Model randomly_projected(Model model, std::size_t dim, std::uint64_t seed);

}  // namespace diml
