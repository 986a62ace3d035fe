#include <algorithm>
#include <numeric>

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
    if (ranking.depth == 0) return ranking;
    // Enough queries at a time that a pass over the gallery pays, few enough to keep every thread
    // busy.
    const auto threads = static_cast<std::size_t>(thread_count(threads_));
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
  VectorsView gallery_;
  int threads_;
};

}  // namespace

std::unique_ptr<FirstStage> make_exact_first_stage(VectorsView gallery, int threads) {
  return std::make_unique<ExactFirstStage>(gallery, threads);
}

}  // namespace diml
