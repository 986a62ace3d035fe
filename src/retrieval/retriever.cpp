#include "diml/retriever.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "cuda_gallery.h"
#include "diml/error.h"

namespace diml {
namespace {

// Side by side, as the first stage wants them: in `copy` unless they already lie so.
VectorsView globals_of(const GridSelection& selection, std::vector<float>& copy) {
  const GridSetView& grids = selection.grids;
  if (!selection.ids) return {grids.globals, grids.size, grids.dim};
  copy.clear();
  copy.reserve(selection.size() * grids.dim);
  for (const std::int64_t id : *selection.ids) {
    const float* global = grids[static_cast<std::size_t>(id)].global;
    copy.insert(copy.end(), global, global + grids.dim);
  }
  return {copy.data(), selection.size(), grids.dim};
}

void check_ids(const GridSelection& selection) {
  if (!selection.ids) return;
  for (const std::int64_t id : *selection.ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= selection.grids.size) {
      throw Error("a selection names grid " + std::to_string(id) + ", but there are " +
                  std::to_string(selection.grids.size) + ", counted from 0");
    }
  }
}

// Ascending, so that a lower place is a lower id and ties fall as they would among ids.
std::vector<std::int64_t> gallery_ids(const GridSelection& gallery) {
  if (!gallery.ids) return {};
  check_ids(gallery);
  std::vector<std::int64_t> ids(gallery.ids->begin(), gallery.ids->end());
  if (std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) != ids.end()) {
    throw Error("the ids of a gallery must ascend: sort them, each once");
  }
  return ids;
}

// The first k places of a query's list by the sum of both similarities, ties by lower id.
std::vector<std::size_t> order_by_total(const ScoredRanking& scored, std::size_t query,
                                        std::size_t k, ScoreWeights weights) {
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
    const float a = weights.total(cosine[x], structural[x]);
    const float b = weights.total(cosine[y], structural[y]);
    return a != b ? a > b : ids[x] < ids[y];
  });
  return order;
}

}  // namespace

Retriever::Retriever(const GridSelection& gallery, MatchParams params, std::string_view matcher,
                     int threads)
    : grids_(gallery.grids),
      ids_(gallery_ids(gallery)),
      params_(params),
      matcher_(make_matcher(matcher, {threads})),
      kept_(matcher_->keep(grids_)) {
  const VectorsView globals = globals_of(gallery, globals_);
#if DIML_HAS_CUDA
  if (kept_) cuda_ = make_cuda_gallery(gallery, globals, kept_, threads);
#endif
  if (!cuda_) exact_ = make_exact_first_stage(globals, threads);
}

Retriever::~Retriever() = default;

std::vector<std::int64_t> Retriever::places_of(std::span<const std::int64_t> ids) const {
  if (ids_.empty()) return {ids.begin(), ids.end()};
  std::vector<std::int64_t> places;
  places.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
    places.push_back(found != ids_.end() && *found == id ? found - ids_.begin() : -1);
  }
  return places;
}

void Retriever::name_places(Ranking& ranking) const {
  if (ids_.empty()) return;
  for (std::int64_t& id : ranking.ids) {
    if (id >= 0) id = ids_[static_cast<std::size_t>(id)];
  }
}

Ranking Retriever::candidates(const GridSelection& queries, std::size_t depth,
                              std::span<const std::int64_t> exclude) const {
  check_ids(queries);
  std::vector<float> copy;
  const VectorsView asked = globals_of(queries, copy);
  const FirstStage& first_stage = cuda_ ? *cuda_ : *exact_;
  Ranking ranking = first_stage.search(asked, depth, places_of(exclude));
  name_places(ranking);
  return ranking;
}

Ranking Retriever::structural_candidates(const GridSelection& queries, std::size_t depth,
                                         std::span<const std::int64_t> exclude) const {
  check_ids(queries);
  if (cuda_) {
    Ranking ranking = cuda_->search_structurally(queries, depth, places_of(exclude), params_);
    name_places(ranking);
    return ranking;
  }
  // Query by query: every list is as long as the gallery.
  Ranking all{queries.size(), 0, {}, {}};
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::int64_t id = queries.id_of(q);
    const GridSelection one(queries.grids, std::span(&id, 1));
    const std::size_t size = ids_.empty() ? grids_.size : ids_.size();
    const ScoredRanking scored = match_head(
        one, candidates(one, size, exclude.empty() ? exclude : exclude.subspan(q, 1)), size);
    all.depth = std::min(depth, scored.head);
    const std::vector<std::size_t> order = order_by_total(scored, 0, scored.head, {});
    for (std::size_t rank = 0; rank < all.depth; ++rank) {
      all.ids.push_back(scored.ranking.ids[order[rank]]);
      all.scores.push_back(scored.ranking.scores[order[rank]] + scored.structural[order[rank]]);
    }
  }
  return all;
}

ScoredRanking Retriever::match_head(const GridSelection& queries, Ranking ranking,
                                    std::size_t head) const {
  ScoredRanking scored{std::move(ranking), 0, {}};
  scored.head = std::min(head, scored.ranking.depth);
  std::vector<Pair> pairs;
  pairs.reserve(queries.size() * scored.head);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (const std::int64_t id : scored.ranking.ids_of(q).first(scored.head)) {
      pairs.push_back({queries.id_of(q), id});
    }
  }
  scored.structural.resize(pairs.size());
  matcher_->score({queries.grids, grids_, pairs}, params_, scored.structural);
  return scored;
}

void check(const ScoreWeights& weights) {
  constexpr float kLargest = 1e6F;
  const auto fits = [](float weight) { return weight >= 0.0F && weight <= kLargest; };
  if (fits(weights.global) && fits(weights.structural) &&
      weights.global + weights.structural > 0.0F) {
    return;
  }
  throw Error("the weights of the two similarities are 0 or more, one of them above 0");
}

std::vector<std::int64_t> reranked(const ScoredRanking& scored, std::size_t query, std::size_t k,
                                   ScoreWeights weights) {
  const std::span<const std::int64_t> ids = scored.ranking.ids_of(query);
  const std::vector<std::size_t> order = order_by_total(scored, query, k, weights);
  std::vector<std::int64_t> result(ids.begin(), ids.end());
  for (std::size_t rank = 0; rank < k; ++rank) result[rank] = ids[order[rank]];
  return result;
}

std::vector<std::int64_t> reranked_and_cut(const ScoredRanking& scored, std::size_t query,
                                           std::size_t k, std::size_t deepest,
                                           ScoreWeights weights) {
  const std::vector<std::int64_t> order = reranked(scored, query, deepest, weights);
  const std::span<const std::int64_t> ids = scored.ranking.ids_of(query);
  std::vector<std::int64_t> result(ids.begin(), ids.end());
  std::copy_n(order.begin(), std::min(k, order.size()), result.begin());
  return result;
}

}  // namespace diml
