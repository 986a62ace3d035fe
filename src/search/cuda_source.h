#pragma once

#include <memory>
#include <span>

#include "diml/candidates.h"
#include "diml/matcher.h"

namespace diml {

struct GridSelection;

// A first stage on an NVIDIA card.
class CudaSource : public CandidateSource {
 public:
  // The first `depth` of the whole gallery by cosine + structural similarity, with the query as
  // source.
  virtual Ranking nearest_structurally(const GridSelection& queries, std::size_t depth,
                                       std::span<const std::int64_t> exclude,
                                       const MatchParams& params) const = 0;
};

// The vectors, ids and grids must outlive it. Null where the card cannot do it. The first form
// knows no grids and ranks by cosines alone; kept: the handle of the cuda matcher's keep() of
// gallery.grids.
std::unique_ptr<CudaSource> make_cuda_source(const VectorSegment& globals, int threads);
std::unique_ptr<CudaSource> make_cuda_source(const VectorSegment& globals,
                                             const GridSelection& gallery,
                                             std::shared_ptr<const void> kept, int threads);

}  // namespace diml
