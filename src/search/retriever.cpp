#include "diml/retriever.h"

#include <algorithm>
#include <functional>

#include "cuda_source.h"
#include "diml/error.h"

namespace diml {
namespace {

// Side by side, as a source wants them: in `copy` unless they already lie so.
VectorsView globals_of(const GridSelection& selection, std::vector<float>& copy) {
  const GridSetView& grids = selection.grids;
  if (!selection.ids && !grids.apart) return {grids.globals, grids.size, grids.dim};
  copy.clear();
  copy.reserve(selection.size() * grids.dim);
  for (std::size_t place = 0; place < selection.size(); ++place) {
    const float* global = grids[static_cast<std::size_t>(selection.id_of(place))].global;
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

}  // namespace

Retriever::Retriever(const GridSelection& gallery, MatchParams params, Backend backend, int threads)
    : grids_(gallery.grids),
      ids_(gallery_ids(gallery)),
      params_(params),
      matcher_(make_matcher(backend, {threads})),
      kept_(matcher_->keep(grids_)) {
  const VectorsView globals = globals_of(gallery, globals_);
#if DIML_HAS_CUDA
  if (kept_) cuda_ = make_cuda_source({globals, ids_}, gallery, kept_, threads);
#endif
  if (!cuda_) exact_ = make_exact_source({{globals, ids_}}, threads);
}

Retriever::~Retriever() = default;

Ranking Retriever::candidates(const GridSelection& queries, std::size_t depth,
                              std::span<const std::int64_t> exclude,
                              const Progress& progress) const {
  check_ids(queries);
  std::vector<float> copy;
  const CandidateSource& source = cuda_ ? *cuda_ : *exact_;
  return source.nearest({.queries = globals_of(queries, copy),
                         .depth = depth,
                         .exclude = exclude,
                         .progress = progress});
}

Ranking Retriever::structural_candidates(const GridSelection& queries, std::size_t depth,
                                         std::span<const std::int64_t> exclude,
                                         const Progress& progress) const {
  check_ids(queries);
  if (cuda_) return cuda_->nearest_structurally(queries, depth, exclude, params_);
  // Query by query: every list is as long as the gallery.
  Ranking all{queries.size(), 0};
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::int64_t id = queries.id_of(q);
    const GridSelection one(queries.grids, std::span(&id, 1));
    const std::size_t size = ids_.empty() ? grids_.size : ids_.size();
    const ScoredRanking scored = match_head(
        one, candidates(one, size, exclude.empty() ? exclude : exclude.subspan(q, 1), progress),
        size, progress);
    const std::span<const std::int64_t> ids = scored.ranking.ids_of(0);
    const std::span<const float> cosines = scored.ranking.scores_of(0);
    const std::vector<std::size_t> order = rank(ids, cosines, scored.structural);
    all.depth = std::min(depth, order.size());
    for (std::size_t k = 0; k < all.depth; ++k) {
      all.ids.push_back(ids[order[k]]);
      all.scores.push_back(ScoreWeights().total(cosines[order[k]], scored.structural[order[k]]));
    }
    progress(q + 1, queries.size());
  }
  return all;
}

ScoredRanking Retriever::match_head(const GridSelection& queries, Ranking ranking, std::size_t head,
                                    const Progress& progress) const {
  return diml::match_head(*matcher_, params_, queries, grids_, std::move(ranking), head, {},
                          progress);
}

std::span<const float> ScoredRanking::structural_of(std::size_t query, std::size_t k) const {
  const std::span<const std::int64_t> ids = ranking.ids_of(query).first(std::min(k, head));
  const auto end = std::find(ids.begin(), ids.end(), -1);
  return {structural.data() + query * head, static_cast<std::size_t>(end - ids.begin())};
}

ScoredRanking match_head(const Matcher& matcher, const MatchParams& params,
                         const GridSelection& queries, const GridSetView& targets, Ranking ranking,
                         std::size_t head,
                         const std::function<std::int64_t(std::int64_t)>& place_of,
                         const Progress& progress) {
  ScoredRanking scored{std::move(ranking), 0, {}};
  scored.head = std::min(head, scored.ranking.depth);
  scored.structural.resize(queries.size() * scored.head);
  std::vector<Pair> pairs;
  std::vector<std::size_t> places;  // of the pairs' scores
  pairs.reserve(scored.structural.size());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t k = 0; k < scored.head; ++k) {
      const std::int64_t id = scored.ranking.ids_of(q)[k];
      if (id < 0) break;
      pairs.push_back({queries.id_of(q), place_of ? place_of(id) : id});
      places.push_back(q * scored.head + k);
    }
  }
  if (pairs.empty()) return scored;
  if (pairs.size() == scored.structural.size()) {
    matcher.score({queries.grids, targets, pairs}, params, scored.structural, {},
                  Quantity::similarity, progress);
    return scored;
  }
  std::vector<float> scores(pairs.size());
  matcher.score({queries.grids, targets, pairs}, params, scores, {}, Quantity::similarity,
                progress);
  for (std::size_t k = 0; k < pairs.size(); ++k) scored.structural[places[k]] = scores[k];
  return scored;
}

std::vector<std::int64_t> reranked(const ScoredRanking& scored, std::size_t query, std::size_t k,
                                   ScoreWeights weights) {
  if (k > scored.head) {
    throw Error("re-ranking " + std::to_string(k) +
                " needs as many structural similarities; there are " + std::to_string(scored.head));
  }
  const std::span<const std::int64_t> ids = scored.ranking.ids_of(query);
  const std::vector<std::size_t> order =
      rank(ids, scored.ranking.scores_of(query), scored.structural_of(query, k), weights);
  std::vector<std::int64_t> result(ids.begin(), ids.end());
  for (std::size_t place = 0; place < order.size(); ++place) result[place] = ids[order[place]];
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
