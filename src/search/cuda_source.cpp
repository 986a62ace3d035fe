#include "cuda_source.h"

#include <algorithm>
#include <mutex>

#include "ascending.h"
#include "base/threads.h"
#include "cuda/device.h"
#include "cuda/device_grids.h"
#include "cuda/launch.h"
#include "cuda/top_k.h"
#include "diml/error.h"
#include "diml/retriever.h"
#include "merge.h"

namespace diml {
namespace {

using cuda::DeviceArray;
using cuda::UploadedGrids;

constexpr std::size_t kScoresAtOnce = std::size_t{1}
                                      << 26;  // structural ones, before the best are kept
constexpr int kLeastCapability = 80;          // of the tensor cores' product
// Scores of the GPU differ from cosines() in the last bits: this many more candidates are fetched,
// and cosines() chooses the best of them.
constexpr std::size_t kOverFetchedCandidates = 16;

struct Split {
  DeviceArray<float> vectors;
  DeviceArray<std::uint16_t> high;
  DeviceArray<std::uint16_t> low;

  cuda::SplitVectors make(VectorsView from, cudaStream_t stream) {
    const std::size_t padded = cuda::split_padding(from.dim);
    high.reserve(from.count * padded);
    low.reserve(from.count * padded);
    cuda::split_vectors(vectors.upload({from.data, from.count * from.dim}, stream), from.count,
                        from.dim, high.data(), low.data(), stream);
    return {high.data(), low.data(), from.count, padded};
  }
};

class Source final : public CudaSource {
 public:
  Source(const VectorSegment& globals, int threads)
      : globals_(globals.vectors),
        ids_(globals.ids),
        exact_(make_exact_source({globals}, threads)),
        threads_(threads) {
    gallery_ = gallery_split_.make(globals_, stream_);
    stream_.wait();
  }

  void keep_grids(const GridSelection& gallery, std::shared_ptr<const void> kept) {
    kept_ = std::static_pointer_cast<const UploadedGrids>(kept);
    if (gallery.ids) {
      packed_ = std::make_unique<UploadedGrids>(gallery.grids, *gallery.ids, false, stream_);
      stream_.wait();
    }
  }

  const char* name() const override { return "cuda"; }
  std::size_t size() const override { return globals_.count; }

  Ranking nearest(const CandidateRequest& request) const override {
    const VectorsView& queries = request.queries;
    const std::size_t deeper = request.depth + kOverFetchedCandidates;
    // The card's kernel knows no filter: the CPU compares the admitted vectors, which gives the
    // same list.
    if (request.admitted) return exact_->nearest(request);
    if (queries.dim != globals_.dim ||
        (!request.exclude.empty() && request.exclude.size() != queries.count) ||
        deeper > cuda::kDeepestTopK || deeper >= globals_.count) {
      return exact_->nearest(request);  // deeper than the card goes, or refused there
    }
    Ranking places;
    {
      const std::lock_guard lock(mutex_);
      places = rank_places(queries, deeper, places_of(request.exclude), nullptr);
    }
    return by_exact_cosines(places, queries, std::min(request.depth, places.depth));
  }

  Ranking nearest_structurally(const GridSelection& queries, std::size_t depth,
                               std::span<const std::int64_t> exclude,
                               const MatchParams& params) const override {
    if (depth > cuda::kDeepestTopK) {
      throw Error(ErrorKind::unsupported, "ranking by all structural similarities goes " +
                                              std::to_string(cuda::kDeepestTopK) +
                                              " places deep on the card, not " +
                                              std::to_string(depth) + ": use the cpu matcher");
    }
    const std::lock_guard lock(mutex_);
    const cuda::DeviceGrids targets = packed_ ? packed_->view() : kept_->view();
    const std::size_t at_once = std::max<std::size_t>(1, kScoresAtOnce / targets.size);
    const std::vector<std::int64_t> excluded = places_of(exclude);
    Ranking all(queries.size(), 0);
    for (std::size_t first = 0; first < queries.size(); first += at_once) {
      std::vector<std::int64_t> ids;
      for (std::size_t q = first; q < std::min(first + at_once, queries.size()); ++q) {
        ids.push_back(queries.id_of(q));
      }
      const UploadedGrids sources(queries.grids, ids, false, stream_);
      float* scores = structural_.reserve(ids.size() * targets.size);
      cuda::match_all_on_device(sources.view(), targets, params, {scores, nullptr, nullptr},
                                stream_);
      std::vector<float> asked;
      for (const std::int64_t id : ids) {
        const float* global = queries.grids[static_cast<std::size_t>(id)].global;
        asked.insert(asked.end(), global, global + queries.grids.dim);
      }
      const auto own = std::span<const std::int64_t>(excluded);
      const Ranking some = rank_places({asked.data(), ids.size(), queries.grids.dim}, depth,
                                       own.empty() ? own : own.subspan(first, ids.size()), scores);
      all.depth = some.depth;
      for (const std::int64_t place : some.ids) all.ids.push_back(id_at(place));
      all.scores.insert(all.scores.end(), some.scores.begin(), some.scores.end());
    }
    return all;
  }

 private:
  std::int64_t id_at(std::int64_t place) const {
    return ids_.empty() || place < 0 ? place : ids_[static_cast<std::size_t>(place)];
  }

  std::vector<std::int64_t> places_of(std::span<const std::int64_t> ids) const {
    if (ids_.empty()) return {ids.begin(), ids.end()};
    std::vector<std::int64_t> places;
    for (const std::int64_t id : ids) places.push_back(place_of(ids_, id));
    return places;
  }

  Ranking by_exact_cosines(const Ranking& places, VectorsView queries, std::size_t depth) const {
    Ranking ranking(queries.count, depth);
    parallel_for(queries.count, 16, threads_, [&](std::size_t begin, std::size_t end) {
      std::vector<const float*> vectors;
      std::vector<std::int64_t> ids;
      for (std::size_t q = begin; q < end; ++q) {
        vectors.clear();
        ids.clear();
        for (const std::int64_t place : places.ids_of(q)) {
          if (place < 0) break;
          vectors.push_back(globals_.data + static_cast<std::size_t>(place) * globals_.dim);
          ids.push_back(id_at(place));
        }
        put_by_cosine({queries.data + q * queries.dim, queries.dim}, ids, vectors, ranking, q);
      }
    });
    return ranking;
  }

  // Places in the gallery. added: [queries, gallery] on the card, or null.
  Ranking rank_places(VectorsView queries, std::size_t depth, std::span<const std::int64_t> exclude,
                      const float* added) const {
    const std::size_t available = globals_.count - (exclude.empty() || globals_.count == 0 ? 0 : 1);
    Ranking ranking(queries.count, std::min(depth, available));
    if (ranking.ids.empty()) return ranking;
    cuda::TopKWork work;
    work.queries = query_split_.make(queries, stream_);
    work.gallery = gallery_;
    work.added = added;
    if (!exclude.empty()) work.exclude = exclude_.upload(exclude, stream_);
    work.depth = ranking.depth;
    work.parts = cuda::top_k_parts(queries.count, globals_.count);
    work.candidates = candidates_.reserve(cuda::top_k_scratch(work));
    const std::size_t list = work.parts * work.depth;
    work.keys = keys_.reserve(queries.count * list);
    cuda::launch_top_k(work, stream_);
    std::vector<std::uint64_t> keys(queries.count * list);
    keys_.download(keys, stream_);
    stream_.wait();
    parallel_for(queries.count, 64, threads_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t q = begin; q < end; ++q) {
        const auto own = keys.begin() + static_cast<std::ptrdiff_t>(q * list);
        if (work.parts > 1) {
          std::partial_sort(own, own + static_cast<std::ptrdiff_t>(work.depth),
                            own + static_cast<std::ptrdiff_t>(list), std::greater<>());
        }
        for (std::size_t k = 0; k < work.depth; ++k) {
          ranking.ids[q * work.depth + k] = cuda::key_id(own[static_cast<std::ptrdiff_t>(k)]);
          ranking.scores[q * work.depth + k] = cuda::key_score(own[static_cast<std::ptrdiff_t>(k)]);
        }
      }
    });
    return ranking;
  }

  VectorsView globals_;
  std::span<const std::int64_t> ids_;  // empty: places
  std::unique_ptr<CandidateSource> exact_;
  int threads_;
  cuda::Stream stream_;
  std::shared_ptr<const UploadedGrids> kept_;
  std::unique_ptr<const UploadedGrids> packed_;  // the gallery, where it is a part of the set
  Split gallery_split_;
  cuda::SplitVectors gallery_;
  mutable std::mutex mutex_;  // of what follows
  mutable Split query_split_;
  mutable DeviceArray<std::int64_t> exclude_;
  mutable DeviceArray<std::uint64_t> candidates_;
  mutable DeviceArray<std::uint64_t> keys_;
  mutable DeviceArray<float> structural_;
};

std::unique_ptr<Source> made(const VectorSegment& globals, int threads) {
  if (cuda::compute_capability() < kLeastCapability || globals.vectors.count >= 0xffffffffu) {
    return nullptr;
  }
  return std::make_unique<Source>(globals, threads);
}

}  // namespace

std::unique_ptr<CudaSource> make_cuda_source(const VectorSegment& globals, int threads) {
  return made(globals, threads);
}

std::unique_ptr<CudaSource> make_cuda_source(const VectorSegment& globals,
                                             const GridSelection& gallery,
                                             std::shared_ptr<const void> kept, int threads) {
  std::unique_ptr<Source> source = made(globals, threads);
  if (source) source->keep_grids(gallery, std::move(kept));
  return source;
}

}  // namespace diml
