#include <algorithm>
#include <limits>
#include <numeric>

#include "ascending.h"
#include "base/threads.h"
#include "diml/candidates.h"
#include "diml/error.h"
#include "merge.h"
#include "scan.h"

#if DIML_HAS_SIMD
#include "cpu/top_k_kernel.h"
#endif

namespace diml {
namespace {

#if DIML_HAS_SIMD
using cpu::dot_products;
using cpu::top_k;
#else
void dot_products(const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                  float* products) {
  for (std::size_t r = 0; r < count; ++r) {
    products[r] = std::inner_product(query, query + dim, rows[r], 0.0f);
  }
}

// Without SIMD kernels: the same answer, one query after the other.
void top_k(const float* queries, std::size_t count, const std::int64_t* exclude,
           const float* gallery, std::size_t size, std::size_t dim, std::size_t depth,
           std::int64_t* ids, float* scores) {
  Ranking best(count, depth);
  for (std::size_t q = 0; q < count; ++q) {
    std::vector<Scored> all;
    for (std::size_t id = 0; id < size; ++id) {
      if (exclude && exclude[q] == static_cast<std::int64_t>(id)) continue;
      all.emplace_back(
          std::inner_product(queries + q * dim, queries + (q + 1) * dim, gallery + id * dim, 0.0f),
          static_cast<std::int64_t>(id));
    }
    put_best(all, best, q);
  }
  std::copy(best.ids.begin(), best.ids.end(), ids);
  std::copy(best.scores.begin(), best.scores.end(), scores);
}
#endif

// Part of a segment. Ids ascend, so a lower place is a lower id and ties fall as among ids.
VectorSegment part_of(const VectorSegment& segment, std::size_t first, std::size_t count) {
  return {{segment.vectors.data + first * segment.vectors.dim, count, segment.vectors.dim},
          segment.ids.subspan(first, count)};
}

// The first place from `place` on whose id is not below `id`. Steps double, so that near ones are
// found as fast as far ones.
std::size_t seek(std::span<const std::int64_t> ids, std::size_t place, std::int64_t id) {
  std::size_t step = 1;
  while (place + step < ids.size() && ids[place + step] < id) {
    place += step;
    step *= 2;
  }
  const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(place);
  const auto end =
      ids.begin() + static_cast<std::ptrdiff_t>(std::min(place + step + 1, ids.size()));
  return static_cast<std::size_t>(std::lower_bound(begin, end, id) - ids.begin());
}

// The best of one part for some of the queries.
Ranking search_part(const VectorSegment& part, const CandidateRequest& request, std::size_t begin,
                    std::size_t end) {
  const std::size_t dim = part.vectors.dim;
  Ranking found(end - begin, std::min(request.depth, part.vectors.count));
  std::vector<std::int64_t> places;
  if (!request.exclude.empty()) {
    for (std::size_t q = begin; q < end; ++q) {
      places.push_back(place_of(part.ids, request.exclude[q]));
    }
  }
  top_k(request.queries.data + begin * dim, end - begin, places.empty() ? nullptr : places.data(),
        part.vectors.data, part.vectors.count, dim, found.depth, found.ids.data(),
        found.scores.data());
  for (std::int64_t& id : found.ids) {
    if (id >= 0) id = part.ids[static_cast<std::size_t>(id)];
  }
  return found;
}

class ExactSource final : public CandidateSource {
 public:
  ExactSource(std::vector<VectorSegment> segments, int threads)
      : segments_(std::move(segments)), threads_(threads) {
    for (VectorSegment& segment : segments_) {
      size_ += segment.vectors.count;
      if (!segment.ids.empty() || segment.vectors.count == 0) continue;
      numbers_.resize(segment.vectors.count);
      std::iota(numbers_.begin(), numbers_.end(), std::int64_t{0});
      segment.ids = numbers_;
    }
  }

  const char* name() const override { return "exact"; }
  std::size_t size() const override { return size_; }

  Ranking nearest(const CandidateRequest& request) const override {
    const VectorsView& queries = request.queries;
    if (!request.exclude.empty() && request.exclude.size() != queries.count) {
      throw Error("as many excluded ids are needed as there are queries");
    }
    for (const VectorSegment& segment : segments_) {
      if (segment.vectors.dim != queries.dim) {
        throw Error("the gallery has " + std::to_string(segment.vectors.dim) +
                    "-d globals, the queries " + std::to_string(queries.dim) +
                    "-d ones: embed both with one model");
      }
    }
    if (request.admitted) return nearest_admitted(request);
    Ranking ranking(queries.count, std::min(request.depth, longest_list(request.exclude)));
    if (ranking.ids.empty()) return ranking;
    CandidateRequest asked = request;
    asked.depth = ranking.depth;
    const auto threads = static_cast<std::size_t>(thread_count(threads_));
    if (queries.count < threads) {
      search_in_parts(asked, threads, ranking);
      return ranking;
    }
    // Enough queries at a time that a pass over the gallery pays, few enough to keep every thread
    // busy.
    const std::size_t grain = std::clamp<std::size_t>(queries.count / (2 * threads), 1, 256);
    parallel_for(
        queries.count, grain, threads_,
        [&](std::size_t begin, std::size_t end) {
          std::vector<Ranking> found;
          for (const VectorSegment& segment : segments_) {
            if (segment.vectors.count > 0) found.push_back(search_part(segment, asked, begin, end));
          }
          merge(found, ranking, begin);
        },
        request.progress);
    return ranking;
  }

 private:
  // All vectors, less the one that every query excludes.
  std::size_t longest_list(std::span<const std::int64_t> exclude) const {
    const auto is_here = [this](std::int64_t id) {
      return std::any_of(segments_.begin(), segments_.end(), [id](const VectorSegment& segment) {
        return place_of(segment.ids, id) >= 0;
      });
    };
    if (exclude.empty() || !std::all_of(exclude.begin(), exclude.end(), is_here)) return size_;
    return size_ - 1;
  }

  // The vectors of admitted ids where they lie: nothing is copied.
  Ranking nearest_admitted(const CandidateRequest& request) const {
    std::vector<std::int64_t> ids;
    std::vector<const float*> vectors;
    for (const VectorSegment& segment : segments_) {
      std::size_t place = 0;
      for (const std::int64_t id : *request.admitted) {
        place = seek(segment.ids, place, id);
        if (place == segment.ids.size()) break;
        if (segment.ids[place] != id) continue;
        ids.push_back(id);
        vectors.push_back(segment.vectors.data + place * segment.vectors.dim);
      }
    }
    CandidateRequest asked = request;
    asked.admitted.reset();
    if (ids.size() == size_) return nearest(asked);  // all of them
    const bool is_ascending = std::is_sorted(ids.begin(), ids.end());
    const CandidateRequest here{request.queries, request.depth, request.exclude, nullptr, ids};
    asked.depth = std::min(request.depth, is_ascending ? longest_admitted(here) : ids.size());
    return scan(asked, ids, vectors, threads_);
  }

  // Fewer queries than threads: each thread looks at parts of the gallery, for all of them. A
  // score is of one query and one vector, so the lists are those of a single pass, bit for bit.
  void search_in_parts(const CandidateRequest& asked, std::size_t threads, Ranking& ranking) const {
    constexpr std::size_t kBetweenLooks = std::size_t{1} << 18;  // vectors, at the progress
    const std::size_t most =
        std::max(std::min((size_ + threads - 1) / threads, kBetweenLooks), asked.depth + 1);
    std::vector<VectorSegment> parts;
    for (const VectorSegment& segment : segments_) {
      for (std::size_t first = 0; first < segment.vectors.count; first += most) {
        parts.push_back(part_of(segment, first, std::min(most, segment.vectors.count - first)));
      }
    }
    std::vector<Ranking> found(parts.size());
    parallel_for(
        parts.size(), 1, threads_,
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t p = begin; p < end; ++p) {
            found[p] = search_part(parts[p], asked, 0, asked.queries.count);
          }
        },
        asked.progress);
    merge(found, ranking, 0);
  }

  std::vector<VectorSegment> segments_;
  std::vector<std::int64_t> numbers_;  // ids of the one segment that has none of its own
  std::size_t size_ = 0;
  int threads_;
};

}  // namespace

Ranking::Ranking(std::size_t query_count, std::size_t list_depth)
    : queries(query_count),
      depth(list_depth),
      ids(queries * depth, -1),
      scores(queries * depth, -std::numeric_limits<float>::infinity()) {}

std::unique_ptr<CandidateSource> make_exact_source(std::vector<VectorSegment> segments,
                                                   int threads) {
  const auto unnamed = std::count_if(segments.begin(), segments.end(), [](const VectorSegment& s) {
    return s.ids.empty() && s.vectors.count > 0;
  });
  if (unnamed > 0 && segments.size() > 1) {
    throw Error(ErrorKind::internal, "vectors in several segments need ids");
  }
  return std::make_unique<ExactSource>(std::move(segments), threads);
}

std::unique_ptr<CandidateSource> make_exact_source(VectorsView vectors, int threads) {
  return make_exact_source(std::vector<VectorSegment>{{vectors, {}}}, threads);
}

std::vector<float> cosines(std::span<const float> query, std::span<const float* const> vectors) {
  std::vector<float> products(vectors.size());
  dot_products(query.data(), vectors.data(), vectors.size(), query.size(), products.data());
  return products;
}

}  // namespace diml
