// Photos to grids, grids to hits, and the hits of others into structural order.

#include <numeric>
#include <unordered_set>

#include "diml/error.h"
#include "diml/explain.h"
#include "routes.h"
#include "schemas.h"

namespace diml::server {
namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Json numbers(const float* first, std::size_t count) {
  return std::vector<float>(first, first + count);
}

Reply embed(Service& service, const Call& call) {
  Subject photo = service.work(call, [&] {
    const Input input(call);
    input.expect_only({"image"});
    if (input.file("image") == nullptr) throw Refusal(400, "the file 'image' is missing");
    return service.subject(input, "query", "image");
  });
  const StoredGrids grids = service.grid_of(call, std::move(photo));
  return service.work(call, [&] {
    const GridView grid = grids.view()[0];
    const GridShape shape = shape_of_cells(grid.count);
    Json cells = Json::array();
    for (std::size_t c = 0; c < grid.count; ++c) {
      Json cell = Json::array();
      for (std::size_t d = 0; d < grid.dim; ++d) cell.push_back(grid.at(c, d));
      cells.push_back(std::move(cell));
    }
    return json_reply({{"rows", shape.rows},
                       {"cols", shape.cols},
                       {"dim", grid.dim},
                       {"cells", std::move(cells)},
                       {"global", numbers(grid.global, grid.dim)}});
  });
}

Json json_of(const GalleryHit& hit, std::size_t rank) {
  return {{"rank", rank},
          {"first_rank", hit.first_rank},
          {"id", hit.item.id},
          {"path", hit.item.path},
          {"label", hit.item.label},
          {"global", hit.global},
          {"structural", hit.structural ? Json(*hit.structural) : Json(nullptr)},
          {"total", hit.total},
          {"metadata", Json::parse(hit.item.metadata)}};
}

ScoreWeights weights_in(const Input& input) {
  constexpr double kLargest = 1000.0;
  const ScoreWeights weights{
      static_cast<float>(input.number("global_weight", 0.0, kLargest, 1.0)),
      static_cast<float>(input.number("structural_weight", 0.0, kLargest, 1.0))};
  if (weights.global + weights.structural == 0.0F) {
    throw Refusal(400, "'global_weight' and 'structural_weight' are both 0: they order nothing");
  }
  return weights;
}

Reply search(Service& service, const Call& call) {
  const ServerLimits& limits = service.params.limits;
  struct Wanted {
    Subject query;
    std::size_t top;
    SearchChoice choice;
  };
  Wanted wanted = service.work(call, [&] {
    const Input input(call);
    input.expect_only({"query", "image", "top", "rerank", "marginals", "lambda", "global_weight",
                       "structural_weight"});
    return Wanted{service.subject(input, "query", "image"),
                  input.whole("top", 1, limits.hits, 10),
                  {input.whole("rerank", 0, limits.hits, 100), service.match_params(input),
                   weights_in(input)}};
  });
  // An image of the gallery does not find itself.
  const std::vector<std::int64_t> exclude = {wanted.query.id.value_or(-1)};
  auto start = Clock::now();
  const StoredGrids query = service.grid_of(call, std::move(wanted.query));
  const double embed_seconds = seconds_since(start);
  return service.work(call, [&] {
    start = Clock::now();
    const auto found =
        service.search.search(query.view(), wanted.top, exclude, wanted.choice).front();
    const double search_seconds = seconds_since(start);
    Json hits = Json::array();
    for (std::size_t k = 0; k < found.size(); ++k) hits.push_back(json_of(found[k], k + 1));
    return json_reply({{"items", service.search.size()},
                       {"hits", std::move(hits)},
                       {"seconds", {{"embed", embed_seconds}, {"search", search_seconds}}}});
  });
}

std::vector<std::int64_t> ids_in(const Json& candidates) {
  std::vector<std::int64_t> ids;
  std::unordered_set<std::int64_t> seen;
  for (const Json& one : candidates) {
    const Json& id = one.is_object() && one.contains("id") ? one["id"] : one;
    if (!id.is_number_integer()) {
      throw Refusal(400, "'candidates' must be ids, or all of them grids with cells");
    }
    ids.push_back(id.get<std::int64_t>());
    if (!seen.insert(ids.back()).second) {
      throw Refusal(422, "candidate " + std::to_string(ids.back()) + " is there twice");
    }
  }
  return ids;
}

Reply rerank_ids(Service& service, const StoredGrids& query, const std::vector<std::int64_t>& ids,
                 const MatchParams& match, ScoreWeights weights) {
  const auto start = Clock::now();
  const GallerySnapshot snapshot = service.gallery.snapshot();
  for (const std::int64_t id : ids) service.expect_item(snapshot, id);
  const std::vector<GalleryHit> hits = service.search.rerank(query.view(), ids, match, weights);
  const double seconds = seconds_since(start);
  Json order = Json::array();
  for (std::size_t k = 0; k < hits.size(); ++k) {
    order.push_back({{"rank", k + 1},
                     {"first_rank", hits[k].first_rank},
                     {"id", hits[k].item.id},
                     {"global", hits[k].global},
                     {"structural", *hits[k].structural},
                     {"total", hits[k].total}});
  }
  return json_reply({{"order", std::move(order)}, {"seconds", seconds}});
}

// Grids that lie in some other store: only their places in the list can name them.
Reply rerank_grids(const StoredGrids& query, const GridSet& grids, const Matcher& matcher,
                   const MatchParams& match, ScoreWeights weights) {
  const auto start = Clock::now();
  const std::size_t count = grids.size();
  std::vector<Pair> pairs;
  std::vector<float> cosines;
  const float* global = query.view().globals;
  for (std::size_t k = 0; k < count; ++k) {
    pairs.push_back({0, static_cast<std::int64_t>(k)});
    const float* other = grids[k].global;
    cosines.push_back(std::inner_product(global, global + grids.dim(), other, 0.0F));
  }
  std::vector<float> scores(count);
  if (count > 0) matcher.score({query.view(), grids.view(), pairs}, match, scores);
  std::vector<float> totals(count);
  for (std::size_t k = 0; k < count; ++k) totals[k] = weights.total(cosines[k], scores[k]);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return totals[x] > totals[y]; });
  const double seconds = seconds_since(start);
  Json listed = Json::array();
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t place = order[k];
    listed.push_back({{"rank", k + 1},
                      {"first_rank", place + 1},
                      {"global", cosines[place]},
                      {"structural", scores[place]},
                      {"total", totals[place]}});
  }
  return json_reply({{"order", std::move(listed)}, {"seconds", seconds}});
}

Reply rerank(Service& service, const Call& call) {
  struct Wanted {
    Subject query;
    std::vector<std::int64_t> ids;
    GridSet grids;
    MatchParams match;
    ScoreWeights weights;
  };
  Wanted wanted = service.work(call, [&] {
    const Input input(call);
    input.expect_only({"query", "image", "candidates", "marginals", "lambda", "global_weight",
                       "structural_weight"});
    const Json* candidates = input.field("candidates");
    if (candidates == nullptr || !candidates->is_array()) {
      throw Refusal(400, "'candidates' is missing: a list of ids, or of {\"cells\": ...}");
    }
    if (candidates->size() > service.params.limits.candidates) {
      throw Refusal(413, "more than " + std::to_string(service.params.limits.candidates) +
                             " candidates: send the best of them");
    }
    Wanted made{service.subject(input, "query", "image"),
                {},
                {},
                service.match_params(input),
                weights_in(input)};
    const bool grids = !candidates->empty() && candidates->front().is_object() &&
                       candidates->front().contains("cells");
    if (grids) {
      made.grids = service.grids_in(*candidates, "candidates");
    } else {
      made.ids = ids_in(*candidates);
    }
    return made;
  });
  const StoredGrids query = service.grid_of(call, std::move(wanted.query));
  return service.work(call, [&] {
    if (wanted.grids.size() > 0) {
      return rerank_grids(query, wanted.grids, service.matcher(), wanted.match, wanted.weights);
    }
    return rerank_ids(service, query, wanted.ids, wanted.match, wanted.weights);
  });
}

}  // namespace

std::vector<Route> search_routes() {
  const Json choices = Json::array(
      {query_parameter("top", "integer", "Hits that are wanted (10)"),
       query_parameter("rerank", "integer", "Candidates that are matched structurally (100)"),
       query_parameter("marginals", "string", "cross_correlation or uniform"),
       query_parameter("lambda", "number", "Entropic regularisation (0.05)"),
       query_parameter("global_weight", "number", "Of the cosine, in what orders the matched (1)"),
       query_parameter("structural_weight", "number", "Of the structural similarity (1)")});
  return {
      {.method = "POST",
       .path = "/v1/embed",
       .summary = "A photo's grid: its cells and its global vector",
       .request = joined_content({image_content(), form_content({"image"}, {})}),
       .answer = "Embedding",
       .handle = embed},
      {.method = "POST",
       .path = "/v1/search",
       .summary = "What in the gallery resembles a photo, an image of the gallery, or a grid",
       .parameters = choices,
       .request = joined_content(
           {json_content("SearchRequest", {{"query", {{"id", 0}}}, {"top", 5}}), image_content(),
            form_content({"image"}, {"query", "top", "rerank", "marginals", "lambda",
                                     "global_weight", "structural_weight"})}),
       .answer = "Hits",
       .refusals = {404},
       .handle = search},
      {.method = "POST",
       .path = "/v1/rerank",
       .summary = "Candidates of any other vector store in structural order",
       .request = joined_content(
           {json_content("RerankRequest", {{"query", {{"id", 0}}}, {"candidates", {1, 2, 3}}}),
            form_content({"image"}, {"query", "candidates", "marginals", "lambda", "global_weight",
                                     "structural_weight"})}),
       .answer = "Reranked",
       .refusals = {404},
       .handle = rerank},
  };
}

}  // namespace diml::server
