#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "diml/error.h"
#include "diml/first_stage.h"
#include "diml/threads.h"

#if DIML_HAS_SIMD
#include "cpu/top_k_kernel.h"
#endif

namespace diml {
namespace {

#if DIML_HAS_SIMD
using cpu::top_k;
#else
// Without SIMD kernels: the same answer, one query after the other.
void top_k(const float* queries, std::size_t count, const std::int64_t* exclude,
           const float* gallery, std::size_t size, std::size_t dim, std::size_t depth,
           std::int64_t* ids, float* scores) {
  std::vector<float> all(size);
  std::vector<std::int64_t> order;
  for (std::size_t q = 0; q < count; ++q) {
    order.clear();
    for (std::size_t id = 0; id < size; ++id) {
      all[id] =
          std::inner_product(queries + q * dim, queries + (q + 1) * dim, gallery + id * dim, 0.0f);
      if (!exclude || exclude[q] != static_cast<std::int64_t>(id)) {
        order.push_back(static_cast<std::int64_t>(id));
      }
    }
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(depth),
                      order.end(), [&all](std::int64_t x, std::int64_t y) {
                        const float a = all[static_cast<std::size_t>(x)];
                        const float b = all[static_cast<std::size_t>(y)];
                        return a != b ? a > b : x < y;
                      });
    for (std::size_t k = 0; k < depth; ++k) {
      ids[q * depth + k] = order[k];
      scores[q * depth + k] = all[static_cast<std::size_t>(order[k])];
    }
  }
}
#endif

class ExactFirstStage final : public FirstStage {
 public:
  ExactFirstStage(VectorsView gallery, int threads) : gallery_(gallery), threads_(threads) {}

  const char* name() const override { return "exact"; }

  Ranking search(VectorsView queries, std::size_t depth,
                 std::span<const std::int64_t> exclude) const override {
    if (queries.dim != gallery_.dim) {
      throw Error("queries have " + std::to_string(queries.dim) + " dimensions, the gallery " +
                  std::to_string(gallery_.dim) + ": embed both with one model");
    }
    if (!exclude.empty() && exclude.size() != queries.count) {
      throw Error("as many excluded ids are needed as there are queries");
    }
    const std::size_t available = gallery_.count - (exclude.empty() || gallery_.count == 0 ? 0 : 1);
    Ranking ranking{queries.count, std::min(depth, available), {}, {}};
    ranking.ids.resize(ranking.queries * ranking.depth);
    ranking.scores.resize(ranking.queries * ranking.depth);
    if (ranking.ids.empty()) return ranking;
    const auto threads = static_cast<std::size_t>(thread_count(threads_));
    if (queries.count < threads) {
      search_in_parts(queries, exclude, threads, ranking);
      return ranking;
    }
    // Enough queries at a time that a pass over the gallery pays, few enough to keep every thread
    // busy.
    const std::size_t grain = std::clamp<std::size_t>(queries.count / (2 * threads), 1, 256);
    parallel_for(queries.count, grain, threads_, [&](std::size_t begin, std::size_t end) {
      top_k(queries.data + begin * queries.dim, end - begin,
            exclude.empty() ? nullptr : exclude.data() + begin, gallery_.data, gallery_.count,
            gallery_.dim, ranking.depth, ranking.ids.data() + begin * ranking.depth,
            ranking.scores.data() + begin * ranking.depth);
    });
    return ranking;
  }

 private:
  // Fewer queries than threads: each thread looks at a part of the gallery, for all of them. A
  // score is of one query and one vector, so the lists are those of a single pass, bit for bit.
  void search_in_parts(VectorsView queries, std::span<const std::int64_t> exclude,
                       std::size_t threads, Ranking& ranking) const {
    const std::size_t depth = ranking.depth;
    // A part gives its own best `depth`, and one more that may be the query itself.
    const std::size_t size = std::max((gallery_.count + threads - 1) / threads, depth + 1);
    const std::size_t parts = (gallery_.count + size - 1) / size;
    std::vector<Ranking> found(parts);
    parallel_for(parts, 1, threads_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t first = part * size;
        const std::size_t count = std::min(size, gallery_.count - first);
        std::vector<std::int64_t> places(exclude.begin(), exclude.end());
        for (std::int64_t& place : places) place -= static_cast<std::int64_t>(first);
        Ranking& own = found[part];
        own = {queries.count, std::min(depth, count), {}, {}};
        own.ids.resize(own.queries * own.depth);
        own.scores.resize(own.queries * own.depth);
        top_k(queries.data, queries.count, places.empty() ? nullptr : places.data(),
              gallery_.data + first * gallery_.dim, count, gallery_.dim, own.depth, own.ids.data(),
              own.scores.data());
        for (std::int64_t& id : own.ids) id = id < 0 ? id : id + static_cast<std::int64_t>(first);
      }
    });
    for (std::size_t q = 0; q < queries.count; ++q) merge(found, q, ranking);
  }

  // The best of the parts' lists, each of which is in order.
  static void merge(const std::vector<Ranking>& parts, std::size_t q, Ranking& ranking) {
    std::vector<std::pair<float, std::int64_t>> all;
    for (const Ranking& part : parts) {
      for (std::size_t k = 0; k < part.depth; ++k) {
        if (part.ids_of(q)[k] >= 0) all.emplace_back(part.scores_of(q)[k], part.ids_of(q)[k]);
      }
    }
    all.resize(std::max(all.size(), ranking.depth),
               {-std::numeric_limits<float>::infinity(), -1});  // only without finite scores
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(ranking.depth),
                      all.end(), [](const auto& x, const auto& y) {
                        return x.first != y.first ? x.first > y.first : x.second < y.second;
                      });
    for (std::size_t k = 0; k < ranking.depth; ++k) {
      ranking.scores[q * ranking.depth + k] = all[k].first;
      ranking.ids[q * ranking.depth + k] = all[k].second;
    }
  }

  VectorsView gallery_;
  int threads_;
};

}  // namespace

std::unique_ptr<FirstStage> make_exact_first_stage(VectorsView gallery, int threads) {
  return std::make_unique<ExactFirstStage>(gallery, threads);
}

}  // namespace diml
