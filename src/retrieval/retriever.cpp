#include "diml/retriever.h"

#include <algorithm>
#include <numeric>

#include "diml/error.h"

namespace diml {
namespace {

VectorsView globals_of(GridSetView grids) { return {grids.globals, grids.size, grids.dim}; }

}  // namespace

Retriever::Retriever(GridSetView gallery, MatchParams params, std::string_view matcher, int threads)
    : gallery_(gallery),
      params_(params),
      first_stage_(make_exact_first_stage(globals_of(gallery), threads)),
      matcher_(make_matcher(matcher, {threads})) {}

Ranking Retriever::candidates(GridSetView queries, std::size_t depth,
                              std::span<const std::int64_t> exclude) const {
  return first_stage_->search(globals_of(queries), depth, exclude);
}

ScoredRanking Retriever::match_head(GridSetView queries, Ranking ranking, std::size_t head) const {
  ScoredRanking scored{std::move(ranking), 0, {}};
  scored.head = std::min(head, scored.ranking.depth);
  std::vector<Pair> pairs;
  pairs.reserve(queries.size * scored.head);
  for (std::size_t q = 0; q < queries.size; ++q) {
    for (const std::int64_t id : scored.ranking.ids_of(q).first(scored.head)) {
      pairs.push_back({static_cast<std::int64_t>(q), id});
    }
  }
  scored.structural.resize(pairs.size());
  matcher_->score({queries, gallery_, pairs}, params_, scored.structural);
  return scored;
}

std::vector<std::int64_t> reranked(const ScoredRanking& scored, std::size_t query, std::size_t k) {
  if (k > scored.head) {
    throw Error("re-ranking " + std::to_string(k) +
                " needs as many structural similarities; there are " + std::to_string(scored.head));
  }
  const std::span<const std::int64_t> ids = scored.ranking.ids_of(query);
  const std::span<const float> cosine = scored.ranking.scores_of(query);
  const float* structural = scored.structural.data() + query * scored.head;
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    const float a = cosine[x] + structural[x];
    const float b = cosine[y] + structural[y];
    return a != b ? a > b : ids[x] < ids[y];
  });
  std::vector<std::int64_t> result(ids.begin(), ids.end());
  for (std::size_t rank = 0; rank < k; ++rank) result[rank] = ids[order[rank]];
  return result;
}

}  // namespace diml
