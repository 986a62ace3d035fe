#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diml/embedder.h"
#include "diml/model.h"
#include "diml/principal_directions.h"
#include "diml/threads.h"

namespace diml {

// Projections that nobody trained: what a trained one of as many dimensions is to be compared with.

struct PcaParams {
  std::size_t dim = 128;       // paper, section 4.2
  std::size_t cells = 50'000;  // that are looked at, spread over the photos
  std::uint64_t seed = 0;      // of which cells
  Orientation orientation = Orientation::as_stored;
  BadImages bad = BadImages::stop;
  int threads = 0;
};

// What the cells of photos say.
struct PcaOfPhotos {
  PrincipalDirections directions;
  std::size_t photos = 0;  // with a cell among those that were looked at
  std::size_t cells = 0;
  std::vector<std::string> bad;  // why photos were left out
};

// The principal directions of unit cells about the origin. Of all projections to so few dimensions
// theirs changes the dot products of cells least (in the sum of squares, before cells become unit
// vectors again); about the mean it would be those of differences from it, which nobody takes.
// embedder: of the network without a projection, with the grid whose cells are meant. Photos of
// which no cell is drawn are not read.
PcaOfPhotos pca_of_photos(Embedder& embedder, std::span<const std::string> paths,
                          const PcaParams& params = {}, const Progress& progress = {});

// The model with these directions in place of its projection, without bias.
Model projected(Model model, const PcaOfPhotos& pca);

// The model with the projection that `diml train` begins with where its seed is this one.
Model randomly_projected(Model model, std::size_t dim, std::uint64_t seed);

}  // namespace diml
