#include <algorithm>
#include <numeric>

#include "diml/error.h"
#include "diml/gallery_search.h"

namespace diml {

// What a search begins with; never changed once it is there.
struct GallerySearch::Loaded {
  std::uint64_t revision = 0;
  std::size_t size = 0;
  GalleryVectors vectors;
  std::unique_ptr<FirstStage> first_stage;        // over vectors.globals
  std::shared_ptr<const ApproximateIndex> index;  // in its place
};

struct GallerySearch::Candidate {
  std::int64_t id = 0;
  float cosine = 0.0F;
  std::optional<float> structural;
  std::size_t first_rank = 0;
  float total = 0.0F;  // of those that are ranked
};

GallerySearch::GallerySearch(Gallery gallery, GallerySearchParams params)
    : gallery_(std::move(gallery)),
      params_(std::move(params)),
      matcher_(make_matcher(params_.matcher, {params_.threads})),
      loaded_(load()) {}

GallerySearch::GallerySearch(Gallery gallery, std::shared_ptr<const ApproximateIndex> index,
                             GallerySearchParams params)
    : gallery_(std::move(gallery)),
      params_(std::move(params)),
      matcher_(make_matcher(params_.matcher, {params_.threads})) {
  const GallerySnapshot snapshot = gallery_.snapshot();
  const IndexOrigin now{snapshot.birth(), snapshot.revision()};
  if (index->origin() != now) {
    throw Error(
        gallery_.folder() +
        ": its index is out of date: 'diml index cache' makes a new one, or search without");
  }
  auto fresh = std::make_shared<Loaded>();
  fresh->revision = now.revision;
  fresh->size = index->size();
  fresh->index = std::move(index);
  loaded_ = std::move(fresh);
}

GallerySearch::~GallerySearch() = default;

std::shared_ptr<const GallerySearch::Loaded> GallerySearch::load() const {
  const GallerySnapshot snapshot = gallery_.snapshot();
  auto fresh = std::make_shared<Loaded>();
  fresh->revision = snapshot.revision();
  fresh->vectors = snapshot.vectors();
  fresh->size = fresh->vectors.ids.size();
  fresh->first_stage = make_exact_first_stage(
      {fresh->vectors.globals.data(), fresh->size, gallery_.format().dim}, params_.threads);
  return fresh;
}

std::shared_ptr<const GallerySearch::Loaded> GallerySearch::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

std::size_t GallerySearch::size() const { return loaded()->size; }
std::uint64_t GallerySearch::revision() const { return loaded()->revision; }

bool GallerySearch::refresh() {
  if (gallery_.snapshot().revision() == revision()) return false;
  std::shared_ptr<const Loaded> fresh = load();
  const std::lock_guard lock(mutex_);
  loaded_.swap(fresh);
  return true;
}

std::vector<std::vector<GallerySearch::Candidate>> GallerySearch::candidates(
    const Loaded& loaded, const GallerySnapshot& snapshot, GridSetView queries, std::size_t depth,
    std::span<const std::int64_t> exclude) const {
  std::vector<std::vector<Candidate>> all(queries.size);
  const std::size_t dim = queries.dim;
  if (loaded.index) {
    std::vector<float> global(dim);
    for (std::size_t q = 0; q < queries.size; ++q) {
      const float* query = queries.globals + q * dim;
      for (const std::int64_t id : loaded.index->nearest({query, dim}, kCandidatesPerHit * depth)) {
        if ((!exclude.empty() && exclude[q] == id) || !snapshot.contains(id)) continue;
        snapshot.read_global(id, global.data());
        all[q].push_back({id, std::inner_product(query, query + dim, global.data(), 0.0F), {}, 0});
      }
      std::sort(all[q].begin(), all[q].end(), [](const Candidate& x, const Candidate& y) {
        return x.cosine != y.cosine ? x.cosine > y.cosine : x.id < y.id;
      });
      if (all[q].size() > depth) all[q].resize(depth);
    }
    return all;
  }
  const std::vector<std::int64_t>& ids = loaded.vectors.ids;
  // The first stage counts places, in the order of the ids.
  std::vector<std::int64_t> places;
  for (const std::int64_t id : exclude) {
    const auto found = std::lower_bound(ids.begin(), ids.end(), id);
    places.push_back(found != ids.end() && *found == id ? found - ids.begin() : -1);
  }
  // One that is excluded makes every list shorter by one: ask for one more, and leave it out here.
  const Ranking ranking =
      loaded.first_stage->search({queries.globals, queries.size, dim}, depth + 1);
  for (std::size_t q = 0; q < queries.size; ++q) {
    for (std::size_t k = 0; k < ranking.depth && all[q].size() < depth; ++k) {
      const std::int64_t place = ranking.ids_of(q)[k];
      if (place < 0 || (!places.empty() && places[q] == place)) continue;
      const std::int64_t id = ids[static_cast<std::size_t>(place)];
      if (snapshot.contains(id)) all[q].push_back({id, ranking.scores_of(q)[k], {}, 0});
    }
  }
  return all;
}

std::vector<GalleryHit> GallerySearch::ranked(const GallerySnapshot& snapshot, GridSetView queries,
                                              std::size_t query, std::vector<Candidate> candidates,
                                              std::size_t top, const SearchChoice& choice) const {
  check(choice.weights);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    candidates[k].first_rank = k + 1;
    candidates[k].total = candidates[k].cosine;
  }
  const std::size_t head = std::min(choice.rerank, candidates.size());
  std::vector<std::int64_t> ids;
  std::vector<Pair> pairs;
  for (std::size_t k = 0; k < head; ++k) {
    ids.push_back(candidates[k].id);
    pairs.push_back({static_cast<std::int64_t>(query), static_cast<std::int64_t>(k)});
  }
  const StoredGrids stored = snapshot.grids(ids);
  std::vector<float> scores(head);
  if (head > 0) matcher_->score({queries, stored.view(), pairs}, choice.match, scores);
  for (std::size_t k = 0; k < head; ++k) {
    candidates[k].structural = scores[k];
    candidates[k].total = choice.weights.total(candidates[k].cosine, scores[k]);
  }
  std::sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(head),
            [](const Candidate& x, const Candidate& y) {
              return x.total != y.total ? x.total > y.total : x.id < y.id;
            });
  std::vector<GalleryHit> hits;
  for (std::size_t k = 0; k < std::min(top, candidates.size()); ++k) {
    const Candidate& one = candidates[k];
    hits.push_back({snapshot.item(one.id), one.cosine, one.structural, one.total, one.first_rank});
  }
  return hits;
}

void GallerySearch::expect_shape(GridSetView queries) const {
  GalleryFormat given = gallery_.format();
  given.cells_per_grid = queries.cells_per_grid;
  given.dim = queries.dim;
  expect_same_embedding(gallery_.format(), given, "the query");
}

std::vector<std::vector<GalleryHit>> GallerySearch::search(
    GridSetView queries, std::size_t top, std::span<const std::int64_t> exclude) const {
  return search(queries, top, exclude, {params_.rerank, params_.match, params_.weights});
}

std::vector<std::vector<GalleryHit>> GallerySearch::search(GridSetView queries, std::size_t top,
                                                           std::span<const std::int64_t> exclude,
                                                           const SearchChoice& choice) const {
  expect_shape(queries);
  if (!exclude.empty() && exclude.size() != queries.size) {
    throw Error("as many excluded ids are needed as there are queries");
  }
  const std::shared_ptr<const Loaded> state = loaded();
  const GallerySnapshot snapshot = gallery_.snapshot();
  std::vector<std::vector<Candidate>> found =
      candidates(*state, snapshot, queries, std::max(top, choice.rerank), exclude);
  std::vector<std::vector<GalleryHit>> hits;
  for (std::size_t q = 0; q < queries.size; ++q) {
    hits.push_back(ranked(snapshot, queries, q, std::move(found[q]), top, choice));
  }
  return hits;
}

std::vector<GalleryHit> GallerySearch::rerank(GridSetView query, std::span<const std::int64_t> ids,
                                              const MatchParams& match,
                                              ScoreWeights weights) const {
  expect_shape(query);
  const GallerySnapshot snapshot = gallery_.snapshot();
  std::vector<Candidate> given;
  std::vector<float> global(query.dim);
  for (const std::int64_t id : ids) {
    snapshot.read_global(id, global.data());
    const float* first = query.globals;
    given.push_back({id, std::inner_product(first, first + query.dim, global.data(), 0.0F), {}, 0});
  }
  return ranked(snapshot, query, 0, std::move(given), ids.size(), {ids.size(), match, weights});
}

}  // namespace diml
