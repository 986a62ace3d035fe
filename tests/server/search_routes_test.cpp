// Photos, ids and grids in, hits out.

#include <cmath>

#include "diml/evaluate.h"
#include "diml/explain.h"
#include "diml/retriever.h"
#include "diml/searcher.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

class SearchRoutes : public ServedGallery {
 protected:
  // The library's results, for comparison.
  std::vector<Hit> found(std::int64_t id, std::size_t top, std::size_t rerank,
                         const MatchParams& match = {}) const {
    const Searcher search(gallery_);
    const std::unique_ptr<GridSnapshot> snapshot = gallery_->snapshot();
    const GridView grid = snapshot->grid(id);
    const std::vector<std::int64_t> itself = {id};
    return search.search(set_of({&grid, 1}), top, itself, {.rerank = rerank, .match = match})[0];
  }
};

TEST_F(SearchRoutes, ASearchByIdGivesWhatTheLibraryFinds) {
  const Json answer = posted("/v1/search", {{"query", {{"id", 5}}}, {"top", 7}, {"rerank", 6}});
  const std::vector<Hit> hits = found(5, 7, 6);
  ASSERT_EQ(answer.at("hits").size(), 7u);
  EXPECT_EQ(answer.at("items"), kImages);
  for (std::size_t k = 0; k < hits.size(); ++k) {
    const Json& hit = answer["hits"][k];
    EXPECT_EQ(hit.at("rank"), k + 1);
    EXPECT_EQ(hit.at("first_rank"), hits[k].first_rank);
    EXPECT_EQ(hit.at("id"), hits[k].item.id);
    EXPECT_EQ(hit.at("path"), hits[k].item.path);
    EXPECT_EQ(hit.at("label"), hits[k].item.label);
    EXPECT_EQ(hit.at("metadata").at("number"), hits[k].item.id);
    EXPECT_EQ(hit.at("global").get<float>(), hits[k].global);
    EXPECT_EQ(hit.at("total").get<float>(), hits[k].total);
    ASSERT_EQ(hit.at("structural").is_null(), k == 6);
    if (k < 6) {
      EXPECT_EQ(hit.at("structural").get<float>(), *hits[k].structural);
    }
  }
  EXPECT_EQ(posted("/v1/search", {{"query", 5}, {"top", 7}, {"rerank", 6}}).at("hits"),
            answer.at("hits"));
}

// A grid as clients send it. scale: cells of any length are normalised by the server.
Json cells_of(const GridView& grid, double scale = 1.0) {
  Json cells = Json::array();
  for (std::size_t c = 0; c < grid.count; ++c) {
    Json cell = Json::array();
    for (std::size_t d = 0; d < grid.dim; ++d) cell.push_back(scale * grid.at(c, d));
    cells.push_back(cell);
  }
  return {{"cells", cells}, {"global", std::vector<float>(grid.global, grid.global + grid.dim)}};
}

// What evaluate() itself finds between two images: one is the only query, the other the gallery.
float evaluated_total(const GridSet& grids, std::int64_t query, std::int64_t other) {
  std::vector<std::int64_t> labels(grids.size(), kUnlabelled);
  EvaluateParams params;
  params.rerank = {1};
  params.per_query = true;
  params.roles.assign(grids.size(), Role::both);
  params.roles[static_cast<std::size_t>(query)] = Role::query;
  params.roles[static_cast<std::size_t>(other)] = Role::gallery;
  labels[static_cast<std::size_t>(query)] = labels[static_cast<std::size_t>(other)] = 1;
  const std::vector<QueryResult> results =
      evaluate(grids.view(), labels, params).results[0].queries;
  EXPECT_EQ(results.at(0).nearest, other);
  return results.at(0).nearest_total;
}

// docs/explain.md: how far a total of an explanation and that of a hit may be apart.
constexpr double kRoundingOfHits = 1e-5;

// Evaluation, the library's search, and all forms of requests to the server.
TEST_F(SearchRoutes, OneQueryHasTheSameTotalsToTheBitByEveryRoute) {
  const std::unique_ptr<GridSnapshot> snapshot = gallery_->snapshot();
  const std::vector<std::int64_t> all = snapshot->ids();
  const std::vector<GridView> views = snapshot->grids(all);
  const GridSet grids(set_of(views));
  for (const std::int64_t id : {std::int64_t{0}, std::int64_t{5}, std::int64_t{17}}) {
    // As evaluate() ranks.
    const std::vector<std::int64_t> asked = {id};
    const GridSelection query(grids.view(), asked);
    const Retriever retriever(grids.view());
    const ScoredRanking scored =
        retriever.match_head(query, retriever.candidates(query, kImages, asked), kImages);
    std::map<std::int64_t, float> totals;
    for (std::size_t k = 0; k < scored.ranking.depth; ++k) {
      totals[scored.ranking.ids[k]] =
          ScoreWeights().total(scored.ranking.scores[k], scored.structural[k]);
    }
    const std::vector<std::int64_t> order = reranked(scored, 0, scored.head);

    const std::vector<Hit> hits = found(id, kImages, kImages);
    ASSERT_EQ(hits.size(), kImages - 1);
    Json ids = Json::array();
    Json elsewhere = Json::array();
    for (std::size_t k = 0; k < hits.size(); ++k) {
      EXPECT_EQ(hits[k].item.id, order[k]);
      EXPECT_EQ(hits[k].total, totals.at(hits[k].item.id));
      ids.push_back(hits[k].item.id);
      elsewhere.push_back(cells_of(snapshot->grid(hits[k].item.id)));
    }
    const auto expect_same = [&](const Json& answers, std::size_t places) {
      ASSERT_EQ(answers.size(), places);
      for (std::size_t k = 0; k < answers.size(); ++k) {
        EXPECT_EQ(answers[k].at("total").get<float>(), hits[k].total) << k;
      }
    };
    const Json by_id = {{"query", id}, {"top", kImages}, {"rerank", kImages}};
    expect_same(posted("/v1/search", by_id).at("hits"), hits.size());
    for (const Json& candidates : {ids, elsewhere}) {
      const Json call = {{"query", id}, {"candidates", candidates}};
      expect_same(posted("/v1/rerank", call).at("order"), hits.size());
    }
    // A grid is not an item of the gallery, so it finds the gallery's copy of itself first.
    const Json by_grid = {
        {"query", cells_of(snapshot->grid(id))}, {"top", kImages}, {"rerank", kImages}};
    Json answers = posted("/v1/search", by_grid).at("hits");
    ASSERT_EQ(answers[0].at("id"), id);
    answers.erase(0);
    expect_same(answers, hits.size());

    for (const Hit& hit : hits) {
      EXPECT_EQ(evaluated_total(grids, id, hit.item.id), hit.total);
      // An explanation is in double, so its total is that of the hit before it was rounded.
      const Json pair = {{"source", id}, {"target", hit.item.id}};
      EXPECT_NEAR(posted("/v1/compare", pair).at("total").get<double>(),
                  static_cast<double>(hit.total), kRoundingOfHits);
    }
  }
}

// A photo, sent in each way, and the same photo in the library.
TEST_F(SearchRoutes, OnePhotoHasTheSameTotalsToTheBitByEveryRoute) {
  Embedder embedder =
      open_embedder({.model = folder_ / "small.safetensors", .grid = 4, .batch = 8});
  const Searcher search(gallery_);
  for (const std::size_t image : {1u, 10u, 22u}) {
    const std::string bytes = photo(image);
    const Image picture = decode_image(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
    const GridSet query = embedder.embed(std::span(&picture, 1), gallery_->format().type);
    const std::vector<Hit> hits = search.search(query.view(), kImages, {}, {.rerank = kImages})[0];
    const std::string all = std::to_string(kImages);
    const HttpResult raw =
        client().post("/v1/search?top=" + all + "&rerank=" + all, bytes, "image/jpeg");
    const HttpResult form = client().post(
        "/v1/search", {{"image", bytes, "a.jpg", "image/jpeg"}, {"top", all}, {"rerank", all}});
    for (const HttpResult* answer : {&raw, &form}) {
      ASSERT_TRUE(*answer);
      ASSERT_EQ((*answer)->status, 200) << (*answer)->body;
      const Json found = Json::parse((*answer)->body).at("hits");
      ASSERT_EQ(found.size(), hits.size());
      for (std::size_t k = 0; k < hits.size(); ++k) {
        EXPECT_EQ(found[k].at("id"), hits[k].item.id);
        EXPECT_EQ(found[k].at("total").get<float>(), hits[k].total) << k;
      }
    }
    std::vector<std::int64_t> ids;
    for (const Hit& hit : hits) ids.push_back(hit.item.id);
    const std::vector<Hit> again = search.rerank(query.view(), ids);
    for (std::size_t k = 0; k < hits.size(); ++k) EXPECT_EQ(again[k].total, hits[k].total);
  }
}

TEST_F(SearchRoutes, APhotoFindsItselfWhicheverWayItIsSent) {
  for (const std::size_t image : {0u, 9u, 23u}) {
    const HttpResult raw = client().post("/v1/search?top=3", photo(image), "image/jpeg");
    ASSERT_TRUE(raw);
    ASSERT_EQ(raw->status, 200) << raw->body;
    const Json hits = Json::parse(raw->body).at("hits");
    ASSERT_EQ(hits.size(), 3u);
    EXPECT_EQ(hits[0].at("id"), image);
    EXPECT_NEAR(hits[0].at("global").get<double>(), 1.0, 1e-4);
    const HttpResult form =
        client().post("/v1/search", {{"image", photo(image), "a.jpg", "image/jpeg"}, {"top", "3"}});
    ASSERT_TRUE(form);
    ASSERT_EQ(form->status, 200) << form->body;
    EXPECT_EQ(Json::parse(form->body).at("hits")[0].at("id"), image);
    EXPECT_EQ(Json::parse(form->body).at("hits").size(), 3u);
  }
}

TEST_F(SearchRoutes, AGridFromElsewhereIsSearchedFor) {
  const HttpResult embedded = client().post("/v1/embed", photo(3), "image/jpeg");
  ASSERT_TRUE(embedded);
  ASSERT_EQ(embedded->status, 200) << embedded->body;
  const Json grid = Json::parse(embedded->body);
  EXPECT_EQ(grid.at("rows"), 4);
  EXPECT_EQ(grid.at("dim"), kDim);
  ASSERT_EQ(grid.at("cells").size(), 16u);
  ASSERT_EQ(grid.at("cells")[0].size(), kDim);
  double length = 0.0;
  for (const double value : grid.at("global")) length += value * value;
  EXPECT_NEAR(length, 1.0, 1e-5);
  const Json query = {{"cells", grid.at("cells")}, {"global", grid.at("global")}};
  EXPECT_EQ(posted("/v1/search", {{"query", query}}).at("hits")[0].at("id"), 3);
  // Its cells agree up to rounding: cells of a gallery are float16.
  const HttpResult photo_search = client().post("/v1/search", photo(3), "image/jpeg");
  EXPECT_NEAR(posted("/v1/search", {{"query", query}}).at("hits")[1].at("total").get<double>(),
              Json::parse(photo_search->body).at("hits")[1].at("total").get<double>(), 1e-3);
}

TEST_F(SearchRoutes, MarginalsAndLambdaAreThoseThatAreAskedFor) {
  const std::vector<Hit> plain = found(2, kImages, 100);
  const std::vector<std::pair<Json, MatchParams>> kinds = {
      {{{"marginals", "uniform"}}, {.marginals = MarginalRule::uniform}},
      {{{"lambda", 0.5}}, {.transport = {.lambda = 0.5}}},
      {{{"marginals", "centre"}}, {.marginals = MarginalRule::centre}},
      {{{"mass", 0.5}}, {.transport = {.mass = 0.5}}},
      {{{"marginals", "uniform"}, {"lambda", 0.2}},
       {.marginals = MarginalRule::uniform, .transport = {.lambda = 0.2}}}};
  for (const auto& [asked, match] : kinds) {
    SCOPED_TRACE(asked.dump());
    Json query = asked;
    query["query"] = 2;
    const Json hits = posted("/v1/search", query).at("hits");
    const std::vector<Hit> wanted = found(2, 10, 100, match);
    ASSERT_EQ(hits.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_EQ(hits[k].at("id"), wanted[k].item.id);
      EXPECT_FLOAT_EQ(hits[k].at("structural").get<float>(), wanted[k].structural.value());
      // The same image with the default parameters has another score.
      for (const Hit& other : plain) {
        if (other.item.id != wanted[k].item.id) continue;
        EXPECT_GT(std::abs(*other.structural - *wanted[k].structural), 1e-4F);
      }
    }
  }
}

TEST_F(SearchRoutes, WeightsSetTheOrder) {
  const Json alone = {{"query", 2}, {"top", 10}, {"rerank", 10}, {"global_weight", 0}};
  Json ids = Json::array();
  double before = 2.0;
  for (const Json& hit : posted("/v1/search", alone).at("hits")) {
    EXPECT_EQ(hit.at("total"), hit.at("structural"));
    EXPECT_LE(hit.at("total").get<double>(), before);
    before = hit.at("total");
    ids.push_back(hit.at("id"));
  }
  Json grids = Json::array();
  const std::unique_ptr<GridSnapshot> snapshot = gallery_->snapshot();
  for (const Json& id : ids) grids.push_back(cells_of(snapshot->grid(id.get<std::int64_t>())));
  for (const Json& candidates : {ids, grids}) {
    const Json order =
        posted("/v1/rerank", {{"query", 2}, {"candidates", candidates}, {"global_weight", 0}})
            .at("order");
    ASSERT_EQ(order.size(), ids.size());
    for (std::size_t k = 0; k < ids.size(); ++k) EXPECT_EQ(order[k].at("first_rank"), k + 1);
  }
}

TEST_F(SearchRoutes, CandidatesOfAnotherStoreAreReRanked) {
  const std::vector<Hit> hits = found(4, 10, 10);
  Json ids = Json::array();
  for (auto hit = hits.rbegin(); hit != hits.rend(); ++hit) ids.push_back(hit->item.id);
  const Json order =
      posted("/v1/rerank", {{"query", {{"id", 4}}}, {"candidates", ids}}).at("order");
  ASSERT_EQ(order.size(), hits.size());
  for (std::size_t k = 0; k < hits.size(); ++k) {
    EXPECT_EQ(order[k].at("id"), hits[k].item.id);
    EXPECT_EQ(order[k].at("rank"), k + 1);
    EXPECT_EQ(order[k].at("first_rank"), hits.size() - k);
    EXPECT_EQ(order[k].at("total").get<float>(), hits[k].total);
  }
  // A photo as the query, in a form.
  const HttpResult form = client().post(
      "/v1/rerank", {{"image", photo(4), "a.jpg", "image/jpeg"}, {"candidates", "[1, 4, 9]"}});
  ASSERT_TRUE(form);
  ASSERT_EQ(form->status, 200) << form->body;
  EXPECT_EQ(Json::parse(form->body).at("order")[0].at("id"), 4);
}

TEST_F(SearchRoutes, VectorsOfAnotherStoreAreReRankedAsIdsAre) {
  std::vector<std::int64_t> ids = {7, 1, 20, 12};
  Json grids = Json::array();
  const std::unique_ptr<GridSnapshot> snapshot = gallery_->snapshot();
  for (const std::int64_t id : ids) grids.push_back(cells_of(snapshot->grid(id), 3.0));
  const Json by_id = posted("/v1/rerank", {{"query", 5}, {"candidates", ids}}).at("order");
  const Json by_grid = posted("/v1/rerank", {{"query", 5}, {"candidates", grids}}).at("order");
  for (std::size_t k = 0; k < ids.size(); ++k) {
    EXPECT_EQ(by_grid[k].at("first_rank"), by_id[k].at("first_rank"));
    EXPECT_NEAR(by_grid[k].at("structural").get<double>(), by_id[k].at("structural").get<double>(),
                1e-3);
  }
  EXPECT_TRUE(
      posted("/v1/rerank", {{"query", 5}, {"candidates", Json::array()}}).at("order").empty());
}

TEST_F(SearchRoutes, AnExplanationIsTheLibrarysAndAddsUp) {
  const Json why = posted("/v1/explain", {{"source", 3}, {"target", {{"id", 8}}}});
  const std::unique_ptr<GridSnapshot> snapshot = gallery_->snapshot();
  MatchParams params;
  params.transport.backend = is_available(Backend::cpu) ? Backend::cpu : Backend::reference;
  const Explanation wanted = explain(snapshot->grid(3), snapshot->grid(8), params);
  EXPECT_EQ(why, Json::parse(to_json(wanted, 64)));
  double sum = 0.0;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      sum += why.at("plan")[i][j].get<double>() * why.at("similarity")[i][j].get<double>();
    }
  }
  EXPECT_NEAR(sum, why.at("score").get<double>(), 1e-6);

  const Json brief = posted("/v1/compare", {{"source", 3}, {"target", 8}});
  for (const char* name : {"score", "cosine", "total", "params", "iterations", "converged"}) {
    EXPECT_EQ(brief.at(name), why.at(name)) << name;
  }
  EXPECT_FALSE(brief.contains("plan"));
}

TEST_F(SearchRoutes, PhotosAndIdsAreComparedInAnyMixture) {
  const Json by_id = posted("/v1/compare", {{"source", 3}, {"target", 8}});
  const HttpResult two = client().post(
      "/v1/compare",
      {{"source", photo(3), "a.jpg", "image/jpeg"}, {"target", photo(8), "b.jpg", "image/jpeg"}});
  const HttpResult one =
      client().post("/v1/compare", {{"source", photo(3), "a.jpg", "image/jpeg"}, {"target", "8"}});
  for (const HttpResult* answer : {&two, &one}) {
    ASSERT_TRUE(*answer);
    ASSERT_EQ((*answer)->status, 200) << (*answer)->body;
    EXPECT_NEAR(Json::parse((*answer)->body).at("total").get<double>(),
                by_id.at("total").get<double>(), 1e-3);
  }
}

TEST_F(SearchRoutes, TheExactPlanScoresAboveTheEntropicOne) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  const Json pair = {{"source", 0}, {"target", 17}};
  Json exact = pair;
  exact["solver"] = "exact";
  const Json best = posted("/v1/explain", exact);
  EXPECT_EQ(best.at("params").at("solver"), "exact");
  EXPECT_GT(best.at("score"), posted("/v1/explain", pair).at("score"));
}

}  // namespace
}  // namespace diml::test
