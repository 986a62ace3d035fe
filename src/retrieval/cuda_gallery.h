#pragma once

#include <memory>
#include <span>

#include "diml/first_stage.h"
#include "diml/matcher.h"

namespace diml {

struct GridSelection;

// A gallery on an NVIDIA card: its first stage, and all of it matched structurally.
class CudaGallery : public FirstStage {
 public:
  // The first `depth` of the whole gallery by cosine + structural similarity, with the query as
  // source. Ids are places in the gallery, as those of search().
  virtual Ranking search_structurally(const GridSelection& queries, std::size_t depth,
                                      std::span<const std::int64_t> exclude,
                                      const MatchParams& params) const = 0;
};

// globals: of the gallery, side by side; they and the grids must outlive it. kept: the handle of
// the cuda matcher's keep() of gallery.grids. Null where the card cannot do it.
std::unique_ptr<CudaGallery> make_cuda_gallery(const GridSelection& gallery, VectorsView globals,
                                               std::shared_ptr<const void> kept, int threads);

}  // namespace diml
