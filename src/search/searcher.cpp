#include "diml/searcher.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "admitted_items.h"
#include "diml/error.h"
#include "diml/retriever.h"
#include "follower.h"
#include "live_candidates.h"
#include "sources.h"

namespace diml {
namespace {

// One list in its final order; its items are still to be named.
std::vector<Hit> hits_of(std::span<const std::int64_t> ids, std::span<const float> cosines,
                         std::span<const float> structural, ScoreWeights weights, std::size_t top) {
  const std::vector<std::size_t> head = rank(ids, cosines, structural, weights);
  std::vector<Hit> hits;
  for (std::size_t k = 0; k < ids.size() && hits.size() < top && ids[k] >= 0; ++k) {
    const std::size_t place = k < head.size() ? head[k] : k;
    Hit hit;
    hit.item.id = ids[place];
    hit.global = hit.total = cosines[place];
    hit.first_rank = place + 1;
    if (place < structural.size()) {
      hit.structural = structural[place];
      hit.total = weights.total(hit.global, structural[place]);
    }
    hits.push_back(std::move(hit));
  }
  return hits;
}

// The grids of a ranking's head, each once.
struct Targets {
  std::vector<std::int64_t> ids;
  std::unordered_map<std::int64_t, std::int64_t> places;

  Targets(const Ranking& ranking, std::size_t head) {
    for (std::size_t q = 0; q < ranking.queries; ++q) {
      for (const std::int64_t id : ranking.ids_of(q).first(std::min(head, ranking.depth))) {
        if (id >= 0 && places.emplace(id, static_cast<std::int64_t>(ids.size())).second) {
          ids.push_back(id);
        }
      }
    }
  }
};

// All of the grids, in the order of their totals. ids: of the grids, for ties.
std::vector<Hit> ranked(const Matcher& matcher, const GridSetView& query, const GridSetView& grids,
                        std::span<const std::int64_t> ids, const SearchParams& params,
                        const Progress& progress) {
  check(params.weights);
  std::vector<const float*> globals;
  std::vector<Pair> pairs;
  for (std::size_t k = 0; k < grids.size; ++k) {
    globals.push_back(grids[k].global);
    pairs.push_back({0, static_cast<std::int64_t>(k)});
  }
  const std::vector<float> exact = cosines({query[0].global, query.dim}, globals);
  std::vector<float> structural(grids.size);
  if (!pairs.empty()) {
    matcher.score({query, grids, pairs}, params.match, structural, {}, Quantity::similarity,
                  progress);
  }
  return hits_of(ids, exact, structural, params.weights, grids.size);
}

// The items of all hits, read together.
void name_items(const GridSnapshot& snapshot, std::vector<std::vector<Hit>>& lists) {
  std::vector<std::int64_t> ids;
  for (const std::vector<Hit>& hits : lists) {
    for (const Hit& hit : hits) ids.push_back(hit.item.id);
  }
  std::vector<Item> items = snapshot.items(ids);
  auto next = items.begin();
  for (std::vector<Hit>& hits : lists) {
    for (Hit& hit : hits) hit.item = std::move(*next++);
  }
}

}  // namespace

Searcher::Searcher(std::shared_ptr<GridStore> store, SearcherParams params)
    : store_(std::move(store)),
      params_(std::move(params)),
      matcher_(make_matcher(params_.backend, {params_.threads})),
      admitted_(std::make_unique<AdmittedItems>()),
      candidates_(make_candidates(params_, *store_, *store_->snapshot())) {
  if (params_.take_in == TakeIn::at_once) {
    if (auto listener = store_->listen()) {
      follower_ = std::make_unique<Follower>(*this, std::move(listener));
    }
  }
}

Searcher::~Searcher() = default;

// The snapshot is taken under the lock: so no other thread brings the candidates past it.
Searcher::Moment Searcher::now() const {
  const std::lock_guard lock(mutex_);
  Moment moment{store_->snapshot(), nullptr, nullptr};
  if (moment.snapshot->revision() != candidates_->revision()) {
    std::shared_ptr<const LiveCandidates> next = candidates_->next(*moment.snapshot);
    if (!next || is_outgrown(params_, *next)) {
      next = make_candidates(params_, *store_, *moment.snapshot);
    }
    candidates_ = std::move(next);
  }
  moment.candidates = candidates_;
  return moment;
}

// Another thread may have brought the list past the snapshot: then a newer one is taken.
Searcher::Moment Searcher::now(const Filter& filter, const Progress& progress) const {
  Moment moment = now();
  if (filter.empty() || moment.candidates->ask_the_store()) return moment;
  while (!(moment.admitted = admitted_->of(filter, *moment.snapshot, progress))) moment = now();
  return moment;
}

IdList Searcher::admitted(const Filter& filter, const Progress& progress) const {
  if (filter.empty()) {
    return std::make_shared<const std::vector<std::int64_t>>(store_->snapshot()->ids());
  }
  Moment moment = now();
  while (!(moment.admitted = admitted_->of(filter, *moment.snapshot, progress))) moment = now();
  return moment.admitted;
}

std::size_t Searcher::size() const { return now().candidates->size(); }

const char* Searcher::source() const {
  const std::lock_guard lock(mutex_);
  return candidates_->base() ? candidates_->base()->name() : "exact";
}

std::size_t Searcher::beside_source() const { return now().candidates->beside_base(); }

bool Searcher::refresh() const {
  const std::uint64_t before = [this] {
    const std::lock_guard lock(mutex_);
    return candidates_->revision();
  }();
  return now().candidates->revision() != before;
}

void Searcher::expect_shape(const GridSetView& queries) const {
  GridFormat given = store_->format();
  given.cells_per_grid = queries.cells_per_grid;
  given.dim = queries.dim;
  expect_same_embedding(store_->format(), given, "the query");
}

std::vector<std::vector<Hit>> Searcher::search(const GridSetView& queries, std::size_t top,
                                               std::span<const std::int64_t> exclude,
                                               const SearchParams& params, const Filter& filter,
                                               const Progress& progress) const {
  expect_shape(queries);
  check(params.weights);
  if (!exclude.empty() && exclude.size() != queries.size) {
    throw Error("as many excluded ids are needed as there are queries");
  }
  const Moment moment = now(filter, progress);
  std::vector<float> globals;
  for (std::size_t q = 0; q < queries.size; ++q) {
    globals.insert(globals.end(), queries[q].global, queries[q].global + queries.dim);
  }
  CandidateRequest request{{globals.data(), queries.size, queries.dim},
                           std::max(top, params.rerank),
                           exclude,
                           moment.snapshot.get()};
  if (moment.admitted) request.admitted = *moment.admitted;
  if (!filter.empty() && !moment.admitted) request.filter = &filter;
  request.progress = progress;
  Ranking ranking = moment.candidates->nearest(request);
  const Targets targets(ranking, params.rerank);
  const std::vector<GridView> grids = moment.snapshot->grids(targets.ids);
  const ScoredRanking scored = match_head(
      *matcher_, params.match, queries, set_of(grids), std::move(ranking), params.rerank,
      [&](std::int64_t id) { return targets.places.at(id); }, progress);
  std::vector<std::vector<Hit>> all;
  for (std::size_t q = 0; q < queries.size; ++q) {
    all.push_back(hits_of(scored.ranking.ids_of(q), scored.ranking.scores_of(q),
                          scored.structural_of(q, params.rerank), params.weights, top));
  }
  name_items(*moment.snapshot, all);
  return all;
}

std::vector<Hit> Searcher::rerank(const GridSetView& query, std::span<const std::int64_t> ids,
                                  const SearchParams& params, const Progress& progress) const {
  expect_shape(query);
  const std::unique_ptr<GridSnapshot> snapshot = store_->snapshot();
  const std::vector<GridView> grids = snapshot->grids(ids);
  std::vector<std::vector<Hit>> hits = {
      ranked(*matcher_, query, set_of(grids), ids, params, progress)};
  name_items(*snapshot, hits);
  return std::move(hits.front());
}

std::vector<Hit> rank_grids(const Matcher& matcher, const GridSetView& query,
                            const GridSetView& grids, const SearchParams& params,
                            const Progress& progress) {
  std::vector<std::int64_t> places(grids.size);
  std::iota(places.begin(), places.end(), std::int64_t{0});
  return ranked(matcher, query, grids, places, params, progress);
}

}  // namespace diml
