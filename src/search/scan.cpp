#include "scan.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/threads.h"
#include "diml/grid_store.h"
#include "merge.h"

namespace diml {
namespace {

constexpr std::size_t kRows = 512;          // that stay in the cache for all queries
constexpr std::size_t kQueriesAtOnce = 64;  // whose best are in memory for every thread
constexpr std::size_t kBlock = 16384;       // vectors that are copied from a store at a time

// Keeps the best `depth` of what it is given, and at times a few more.
class Best {
 public:
  explicit Best(std::size_t depth) : depth_(depth) {}

  void add(float score, std::int64_t id) {
    if (score < worst_) return;
    all_.emplace_back(score, id);
    if (all_.size() < 2 * depth_ + kRows) return;
    const auto last = all_.begin() + static_cast<std::ptrdiff_t>(depth_ - 1);
    std::nth_element(all_.begin(), last, all_.end(), is_better);
    worst_ = last->first;
    all_.resize(depth_);
  }

  std::vector<Scored>& all() { return all_; }

 private:
  std::size_t depth_;
  float worst_ = -std::numeric_limits<float>::infinity();
  std::vector<Scored> all_;
};

// The best of one part, for queries [first, first + count).
Ranking scan_part(const CandidateRequest& request, std::size_t first, std::size_t count,
                  std::span<const std::int64_t> ids, std::span<const float* const> vectors) {
  const std::size_t dim = request.queries.dim;
  std::vector<Best> best(count, Best(request.depth));
  for (std::size_t row = 0; row < ids.size(); row += kRows) {
    const std::size_t rows = std::min(kRows, ids.size() - row);
    for (std::size_t q = 0; q < count; ++q) {
      const std::int64_t excluded = request.exclude.empty() ? -1 : request.exclude[first + q];
      const std::vector<float> scores =
          cosines({request.queries.data + (first + q) * dim, dim}, vectors.subspan(row, rows));
      for (std::size_t r = 0; r < rows; ++r) {
        if (ids[row + r] != excluded) best[q].add(scores[r], ids[row + r]);
      }
    }
  }
  Ranking found(count, std::min(request.depth, ids.size()));
  for (std::size_t q = 0; q < count; ++q) put_best(best[q].all(), found, q);
  return found;
}

}  // namespace

std::size_t longest_admitted(const CandidateRequest& request) {
  const std::span<const std::int64_t> admitted = *request.admitted;
  const auto is_admitted = [&](std::int64_t id) {
    return std::binary_search(admitted.begin(), admitted.end(), id);
  };
  const bool one_less = !request.exclude.empty() &&
                        std::all_of(request.exclude.begin(), request.exclude.end(), is_admitted);
  return admitted.size() - (one_less ? 1 : 0);
}

Ranking scan(const CandidateRequest& request, std::span<const std::int64_t> ids,
             std::span<const float* const> vectors, int threads) {
  Ranking ranking(request.queries.count, request.depth);
  if (ranking.ids.empty()) return ranking;
  const auto workers = static_cast<std::size_t>(thread_count(threads));
  const std::size_t of_part = std::max(kRows, (ids.size() + workers - 1) / workers);
  const std::size_t parts = (ids.size() + of_part - 1) / of_part;
  for (std::size_t first = 0; first < ranking.queries; first += kQueriesAtOnce) {
    const std::size_t count = std::min(kQueriesAtOnce, ranking.queries - first);
    std::vector<Ranking> found(parts);
    parallel_for(
        parts, 1, threads,
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t p = begin; p < end; ++p) {
            const std::size_t from = p * of_part;
            const std::size_t size = std::min(of_part, ids.size() - from);
            found[p] = scan_part(request, first, count, ids.subspan(from, size),
                                 vectors.subspan(from, size));
          }
        },
        request.progress);
    merge(found, ranking, first);
  }
  return ranking;
}

Ranking scan_stored(const CandidateRequest& request, int threads) {
  const std::span<const std::int64_t> admitted = *request.admitted;
  const std::size_t dim = request.queries.dim;
  CandidateRequest asked = request;
  asked.depth = std::min(request.depth, longest_admitted(request));
  Ranking ranking(request.queries.count, asked.depth);
  std::vector<float> copies(std::min(kBlock, admitted.size()) * dim);
  std::vector<std::int64_t> ids;
  std::vector<const float*> vectors;
  const auto take_in = [&] {
    const std::vector<Ranking> lists = {std::move(ranking), scan(asked, ids, vectors, threads)};
    ranking = Ranking(request.queries.count, asked.depth);
    merge(lists, ranking, 0);
    ids.clear();
    vectors.clear();
  };
  request.snapshot->visit_some(
      admitted, [&](std::int64_t id, std::string_view, const void* global) {
        vectors.push_back(&copies[ids.size() * dim]);
        std::memcpy(&copies[ids.size() * dim], global, dim * sizeof(float));
        ids.push_back(id);
        if (ids.size() == kBlock) take_in();
        return true;
      });
  if (!ids.empty()) take_in();
  return ranking;
}

void put_scanned(const CandidateRequest& request, std::size_t q, Ranking& ranking) {
  CandidateRequest alone = request;
  alone.queries = {request.queries.data + q * request.queries.dim, 1, request.queries.dim};
  if (!request.exclude.empty()) alone.exclude = request.exclude.subspan(q, 1);
  alone.depth = ranking.depth;
  const Ranking list = scan_stored(alone, 1);
  merge({&list, 1}, ranking, q);
}

}  // namespace diml
