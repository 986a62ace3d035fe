#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diml/error.h"
#include "diml/explain.h"
#include "placed_grid.h"
#include "random_grid.h"

namespace diml {
namespace {

Explanation unequal() {
  const EmbeddingGrid source = test::random_grid(15, 8, 3);
  const EmbeddingGrid target = test::random_grid(8, 8, 103);
  MatchParams params;
  params.marginals = MarginalRule::uniform;
  params.transport.backend = Backend::reference;
  params.transport.lambda = 0.1;
  return explain(source, target, params, {3, 5}, {2, 4});
}

TEST(ExplanationJson, HasTheFieldsThatOthersRelyOn) {
  const nlohmann::json json = nlohmann::json::parse(to_json(unequal()));
  EXPECT_EQ(json.at("rows_source"), 3);
  EXPECT_EQ(json.at("cols_source"), 5);
  EXPECT_EQ(json.at("rows_target"), 2);
  EXPECT_EQ(json.at("cols_target"), 4);
  EXPECT_EQ(json.at("plan").size(), 15u);
  EXPECT_EQ(json.at("plan").at(14).size(), 8u);
  EXPECT_EQ(json.at("similarity").at(0).size(), 8u);
  EXPECT_EQ(json.at("marginals").at("source").size(), 15u);
  EXPECT_EQ(json.at("marginals").at("target").size(), 8u);
  EXPECT_EQ(json.at("params").at("marginals"), "uniform");
  EXPECT_EQ(json.at("params").at("solver"), "reference");
  EXPECT_EQ(json.at("params").at("mass"), 1.0);
  EXPECT_DOUBLE_EQ(json.at("total").get<double>(),
                   json.at("score").get<double>() + json.at("cosine").get<double>());
  double sum = 0.0;
  for (const auto& pair : json.at("pairs")) {
    const std::size_t i = pair.at("source");
    const std::size_t j = pair.at("target");
    EXPECT_EQ(pair.at("mass"), json.at("plan").at(i).at(j));
    EXPECT_EQ(pair.at("similarity"), json.at("similarity").at(i).at(j));
    sum += pair.at("contribution").get<double>();
  }
  EXPECT_NEAR(sum, json.at("score").get<double>(), 1e-9);
}

TEST(ExplanationJson, OfAShareOfTheMassSaysSoAndStillSumsToTheScore) {
  MatchParams params;
  params.transport.backend = Backend::reference;
  params.transport.mass = 0.6;
  const Explanation why =
      explain(test::random_grid(15, 8, 3), test::random_grid(8, 8, 103), params, {3, 5}, {2, 4});
  const nlohmann::json json = nlohmann::json::parse(to_json(why));
  EXPECT_EQ(json.at("params").at("mass"), 0.6);
  double mass = 0.0;
  double sum = 0.0;
  for (const auto& pair : json.at("pairs")) {
    mass += pair.at("mass").get<double>();
    sum += pair.at("contribution").get<double>();
  }
  EXPECT_NEAR(mass, 0.6, 1e-4);
  EXPECT_NEAR(sum, why.score, 1e-9);
  double even = 0.0;
  for (const double s : why.similarity) even += s;
  EXPECT_NEAR(why.mean_similarity, 0.6 * even / static_cast<double>(why.similarity.size()), 1e-12);
  EXPECT_EQ(explanation_from_json(to_json(why)).params.transport.mass, 0.6);
}

TEST(ExplanationJson, ReadBackItIsTheSame) {
  const Explanation why = unequal();
  for (const std::size_t listed : {kAllPairs, std::size_t{7}, std::size_t{0}}) {
    const Explanation again = explanation_from_json(to_json(why, listed));
    EXPECT_EQ(to_json(again), to_json(why));
    EXPECT_EQ(again.params.transport.lambda, 0.1);
    EXPECT_EQ(again.source, why.source);
  }
}

TEST(ExplanationJson, HasRegionsThatSumToTheScoreWithTheScatteredRest) {
  const nlohmann::json json = nlohmann::json::parse(to_json(unequal(), 0));
  double sum = json.at("scattered");
  EXPECT_LE(json.at("regions").size(), 6u);
  for (const auto& region : json.at("regions")) {
    EXPECT_FALSE(region.at("source").empty());
    EXPECT_FALSE(region.at("target").empty());
    sum += region.at("contribution").get<double>();
  }
  EXPECT_NEAR(sum, json.at("score").get<double>(), 1e-9);
}

TEST(ExplanationJson, SaysWhatThePriorDid) {
  const nlohmann::json without = nlohmann::json::parse(to_json(unequal(), 0));
  EXPECT_TRUE(without.at("prior").is_null());
  EXPECT_EQ(without.at("params").at("prior"), "none");
  MatchParams params;
  params.prior = Prior::affine;
  const AffineMap same = {1, 0, 0, 0, 1, 0};
  const EmbeddingGrid source = test::placed_grid({5, 5}, 24, same, 1);
  const EmbeddingGrid target = test::placed_grid({5, 5}, 24, same, 2);
  const Explanation why = explain(source, target, params);
  const nlohmann::json with = nlohmann::json::parse(to_json(why, 0));
  EXPECT_EQ(with.at("params").at("prior"), "affine");
  EXPECT_EQ(with.at("prior").at("rounds"), 3);
  EXPECT_EQ(with.at("prior").at("trusted"), true);
  EXPECT_EQ(with.at("prior").at("doubt"), "none");
  EXPECT_EQ(with.at("prior").at("map").size(), 6u);
  EXPECT_EQ(to_json(explanation_from_json(with.dump()), 0), to_json(why, 0));
}

TEST(ExplanationJson, ReadsFilesThatWereWrittenBeforeThereWerePriors) {
  nlohmann::json json = nlohmann::json::parse(to_json(unequal(), 0));
  for (const char* name : {"prior", "regions", "scattered"}) json.erase(name);
  json["params"].erase("prior");
  const Explanation again = explanation_from_json(json.dump());
  EXPECT_EQ(to_json(again), to_json(unequal()));
}

TEST(ExplanationJson, ListsAsManyPairsAsAreWanted) {
  const auto json = nlohmann::json::parse(to_json(unequal(), 7));
  EXPECT_EQ(json.at("pairs").size(), 7u);
  EXPECT_EQ(json.at("weakest").size(), 15u);
}

TEST(ExplanationJson, RefusesWhatIsNone) {
  const std::string whole = to_json(unequal(), 0);
  EXPECT_THROW(explanation_from_json(""), Error);
  EXPECT_THROW(explanation_from_json("[]"), Error);
  EXPECT_THROW(explanation_from_json("{\"score\": 1}"), Error);
  EXPECT_THROW(explanation_from_json(whole.substr(0, whole.size() / 2)), Error);
  auto json = nlohmann::json::parse(whole);
  json["plan"].erase(0);
  EXPECT_THROW(explanation_from_json(json.dump()), Error);
  json = nlohmann::json::parse(whole);
  json["rows_source"] = -1;
  EXPECT_THROW(explanation_from_json(json.dump()), Error);
  json = nlohmann::json::parse(whole);
  json["params"]["solver"] = "magic";
  EXPECT_THROW(explanation_from_json(json.dump()), Error);
}

}  // namespace
}  // namespace diml
