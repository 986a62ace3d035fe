#include "cuda_gallery.h"

#include <algorithm>
#include <mutex>

#include "cuda/device.h"
#include "cuda/device_grids.h"
#include "cuda/launch.h"
#include "cuda/top_k.h"
#include "diml/error.h"
#include "diml/retriever.h"
#include "diml/threads.h"

namespace diml {
namespace {

using cuda::DeviceArray;
using cuda::UploadedGrids;

constexpr std::size_t kScoresAtOnce = std::size_t{1}
                                      << 26;  // structural ones, before the best are kept
constexpr int kLeastCapability = 80;          // of the tensor cores' product

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

class Gallery final : public CudaGallery {
 public:
  Gallery(const GridSelection& gallery, VectorsView globals, std::shared_ptr<const void> kept,
          int threads)
      : globals_(globals),
        exact_(make_exact_first_stage(globals, threads)),
        threads_(threads),
        kept_(std::static_pointer_cast<const UploadedGrids>(kept)) {
    if (gallery.ids) {
      packed_ = std::make_unique<UploadedGrids>(gallery.grids, *gallery.ids, false, stream_);
    }
    gallery_ = gallery_split_.make(globals, stream_);
    stream_.wait();
  }

  const char* name() const override { return "cuda"; }

  Ranking search(VectorsView queries, std::size_t depth,
                 std::span<const std::int64_t> exclude) const override {
    if (queries.dim != globals_.dim || (!exclude.empty() && exclude.size() != queries.count) ||
        depth > cuda::kDeepestTopK) {
      return exact_->search(queries, depth,
                            exclude);  // deeper than the card goes, or refused there
    }
    const std::lock_guard lock(mutex_);
    return rank(queries, depth, exclude, nullptr);
  }

  Ranking search_structurally(const GridSelection& queries, std::size_t depth,
                              std::span<const std::int64_t> exclude,
                              const MatchParams& params) const override {
    if (depth > cuda::kDeepestTopK) {
      throw Error("ranking by all structural similarities goes " +
                  std::to_string(cuda::kDeepestTopK) + " places deep on the card, not " +
                  std::to_string(depth) + ": use --matcher cpu");
    }
    const std::lock_guard lock(mutex_);
    const cuda::DeviceGrids targets = packed_ ? packed_->view() : kept_->view();
    const std::size_t at_once = std::max<std::size_t>(1, kScoresAtOnce / targets.size);
    Ranking all{queries.size(), 0, {}, {}};
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
      const Ranking some =
          rank({asked.data(), ids.size(), queries.grids.dim}, depth,
               exclude.empty() ? exclude : exclude.subspan(first, ids.size()), scores);
      all.depth = some.depth;
      all.ids.insert(all.ids.end(), some.ids.begin(), some.ids.end());
      all.scores.insert(all.scores.end(), some.scores.begin(), some.scores.end());
    }
    return all;
  }

 private:
  // added: [queries, gallery] on the card, or null.
  Ranking rank(VectorsView queries, std::size_t depth, std::span<const std::int64_t> exclude,
               const float* added) const {
    const std::size_t available = globals_.count - (exclude.empty() || globals_.count == 0 ? 0 : 1);
    Ranking ranking{queries.count, std::min(depth, available), {}, {}};
    ranking.ids.resize(ranking.queries * ranking.depth);
    ranking.scores.resize(ranking.queries * ranking.depth);
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
  std::unique_ptr<FirstStage> exact_;
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

}  // namespace

std::unique_ptr<CudaGallery> make_cuda_gallery(const GridSelection& gallery, VectorsView globals,
                                               std::shared_ptr<const void> kept, int threads) {
  if (cuda::compute_capability() < kLeastCapability || globals.count >= 0xffffffffu) return nullptr;
  return std::make_unique<Gallery>(gallery, globals, std::move(kept), threads);
}

}  // namespace diml
