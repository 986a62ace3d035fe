// Photos to grids, grids to hits, and re-ranking of given candidates.

#include <algorithm>
#include <unordered_set>

#include "diml/explain.h"
#include "routes.h"
#include "work_budget.h"

namespace diml::server {
namespace {

Answered<EmbeddingAnswer> embed(Service& service, const Call& call, const EmbedRequest& asked) {
  Subject photo =
      service.work(call, [&] { return service.subject({.name = "image", .file = asked.image}); });
  SubjectGrid grids = service.grid_of(call, std::move(photo));
  return service.work(call, [&] {
    const GridView grid = grids.view()[0];
    const GridShape shape = shape_of_cells(grid.count);
    EmbeddingAnswer answer{shape.rows, shape.cols, grid.dim, {}, {}};
    for (std::size_t c = 0; c < grid.count; ++c) {
      std::vector<float>& cell = answer.cells.emplace_back(grid.dim);
      for (std::size_t d = 0; d < grid.dim; ++d) cell[d] = grid.at(c, d);
    }
    answer.global.assign(grid.global, grid.global + grid.dim);
    return Answered(answer);
  });
}

HitAnswer answer_of(const Hit& hit, std::size_t rank) {
  return {rank,
          hit.first_rank,
          hit.item.id,
          hit.item.path,
          path_bytes_of(hit.item),
          label_of(hit.item),
          hit.global,
          hit.structural,
          hit.total,
          metadata_of(hit.item)};
}

void expect_order(const ScoreWeights& weights) {
  if (weights.global + weights.structural > 0.0F) return;
  throw Refusal(400, "'global_weight' and 'structural_weight' are both 0: one must be above 0");
}

Answered<HitsAnswer> search(Service& service, const Call& call, const SearchRequest& asked) {
  expect_order(asked.weights);
  Subject subject = service.work(call, [&] {
    expect_affordable(service, std::min(asked.rerank, service.search.size()), asked.match,
                      service.search.matcher().backend(), "candidates");
    return service.subject(asked.query);
  });
  // An image of the gallery is left out of its own hits.
  const std::vector<std::int64_t> exclude = {subject.id.value_or(-1)};
  auto start = Clock::now();
  SubjectGrid query = service.grid_of(call, std::move(subject));
  HitsAnswer answer;
  answer.seconds.embed = seconds_since(start);
  return service.work(call, [&] {
    start = Clock::now();
    const Progress progress = progress_of(call.patience);
    const auto found =
        service.search
            .search(query.view(), asked.top, exclude, {asked.rerank, asked.match, asked.weights},
                    asked.where, progress)
            .front();
    answer.seconds.search = seconds_since(start);
    answer.items = asked.where.empty() ? service.search.size()
                                       : service.search.admitted(asked.where, progress)->size();
    for (std::size_t k = 0; k < found.size(); ++k) {
      answer.hits.push_back(answer_of(found[k], k + 1));
    }
    return Answered(answer);
  });
}

std::vector<std::int64_t> ids_in(const Json& candidates) {
  std::vector<std::int64_t> ids;
  std::unordered_set<std::int64_t> seen;
  for (const Json& one : candidates) {
    const std::optional<std::int64_t> id = id_in(one, "candidates");
    if (!id) throw Refusal(400, "'candidates' must be ids, or all of them grids with cells");
    ids.push_back(*id);
    if (!seen.insert(*id).second) {
      throw Refusal(422, "candidate " + std::to_string(*id) + " is in the list twice");
    }
  }
  return ids;
}

// ids: of items of the gallery; empty for grids of another store, which are named by their position
// in the list.
RerankedAnswer answer_of(const std::vector<Hit>& hits, bool ids, double seconds) {
  RerankedAnswer answer;
  answer.seconds = seconds;
  for (std::size_t k = 0; k < hits.size(); ++k) {
    const Hit& hit = hits[k];
    answer.order.push_back({k + 1, hit.first_rank, ids ? std::optional(hit.item.id) : std::nullopt,
                            hit.global, *hit.structural, hit.total});
  }
  return answer;
}

Answered<RerankedAnswer> rerank(Service& service, const Call& call, const RerankRequest& asked) {
  expect_order(asked.weights);
  expect_affordable(service, asked.candidates->size(), asked.match,
                    service.search.matcher().backend(), "candidates");
  struct Wanted {
    Subject query;
    std::vector<std::int64_t> ids;
    GridSet grids;
  };
  Wanted wanted = service.work(call, [&] {
    Wanted made{service.subject(asked.query), {}, {}};
    const Json& candidates = *asked.candidates;
    const bool grids = !candidates.empty() && candidates.front().is_object() &&
                       candidates.front().contains("cells");
    if (grids) {
      made.grids = service.grids_in(candidates, "candidates");
    } else {
      made.ids = ids_in(candidates);
    }
    return made;
  });
  SubjectGrid query = service.grid_of(call, std::move(wanted.query));
  return service.work(call, [&] {
    const auto start = Clock::now();
    const SearchParams params{wanted.ids.size(), asked.match, asked.weights};
    if (wanted.grids.size() > 0) {
      const std::vector<Hit> hits =
          rank_grids(service.search.matcher(), query.view(), wanted.grids.view(), params,
                     progress_of(call.patience));
      return Answered(answer_of(hits, false, seconds_since(start)));
    }
    const std::vector<Hit> hits =
        service.search.rerank(query.view(), wanted.ids, params, progress_of(call.patience));
    return Answered(answer_of(hits, true, seconds_since(start)));
  });
}

}  // namespace

std::vector<Route> search_routes() {
  return {
      route("POST", "/v1/embed", embed,
            {.summary = "A photo's grid: its cells and its global vector"}),
      route("POST", "/v1/search", search,
            {.summary = "Images similar to a photo, to an image of the gallery, or to a grid",
             .refusals = {404}}),
      route("POST", "/v1/rerank", rerank,
            {.summary = "Re-ranks candidates of any other vector store", .refusals = {404}}),
  };
}

}  // namespace diml::server
