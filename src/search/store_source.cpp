#include "store_source.h"

#include <algorithm>

#include "diml/approximate_index.h"
#include "diml/searcher.h"
#include "merge.h"
#include "scan.h"

namespace diml {
namespace {

class StoreSource final : public CandidateSource {
 public:
  explicit StoreSource(std::size_t size) : size_(size) {}

  const char* name() const override { return "pgvector"; }
  std::size_t size() const override { return size_; }
  bool asks_the_store() const override { return true; }

  // More than are wanted come from the index; exact cosines select among them.
  Ranking nearest(const CandidateRequest& request) const override {
    const GridSnapshot& snapshot = *request.snapshot;
    const std::size_t dim = request.queries.dim;
    const Filter all;
    const Filter& filter = request.filter != nullptr ? *request.filter : all;
    Ranking ranking(request.queries.count, std::min(request.depth, snapshot.size()));
    for (std::size_t q = 0; q < request.queries.count; ++q) {
      request.progress.stop_if_cancelled();
      const std::span<const float> query(request.queries.data + q * dim, dim);
      const std::int64_t own = request.exclude.empty() ? -1 : request.exclude[q];
      StoredVectors found = snapshot.about_nearest(query, kOverFetch * ranking.depth + 1, filter);
      std::vector<std::int64_t> ids;
      std::vector<const float*> vectors;
      for (std::size_t k = 0; k < found.ids.size(); ++k) {
        if (found.ids[k] == own) continue;
        ids.push_back(found.ids[k]);
        vectors.push_back(&found.globals[k * dim]);
      }
      if (ids.size() < ranking.depth && ids.size() + 1 < snapshot.size()) {
        put_exactly(request, filter, q, ranking);
      } else {
        put_by_cosine(query, ids, vectors, ranking, q);
      }
    }
    return shortened(std::move(ranking));
  }

 private:
  // The index found too few: all that are admitted are compared.
  static void put_exactly(const CandidateRequest& request, const Filter& filter, std::size_t q,
                          Ranking& ranking) {
    const std::vector<std::int64_t> admitted =
        filter.empty() ? request.snapshot->ids()
                       : request.snapshot->admitted(filter, 0).value_or(std::vector<std::int64_t>());
    CandidateRequest of_admitted = request;
    of_admitted.admitted = admitted;
    put_scanned(of_admitted, q, ranking);
  }

  // To the length of the longest list.
  static Ranking shortened(Ranking ranking) {
    std::size_t longest = 0;
    for (std::size_t q = 0; q < ranking.queries; ++q) {
      const auto ids = ranking.ids_of(q);
      longest = std::max(
          longest, static_cast<std::size_t>(std::find(ids.begin(), ids.end(), -1) - ids.begin()));
    }
    if (longest == ranking.depth) return ranking;
    Ranking shorter(ranking.queries, longest);
    for (std::size_t q = 0; q < ranking.queries; ++q) {
      std::copy_n(ranking.ids_of(q).begin(), longest, shorter.ids.begin() + q * longest);
      std::copy_n(ranking.scores_of(q).begin(), longest, shorter.scores.begin() + q * longest);
    }
    return shorter;
  }

  std::size_t size_;
};

}  // namespace

std::unique_ptr<CandidateSource> make_store_source(std::size_t size) {
  return std::make_unique<StoreSource>(size);
}

}  // namespace diml
