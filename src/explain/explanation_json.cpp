#include "explanation_json.h"

#include <algorithm>
#include <cmath>

#include "base/json_limits.h"
#include "diml/error.h"
#include "pairs.h"
#include "regions.h"

namespace diml {
namespace {

using Json = nlohmann::ordered_json;

Json matrix(const std::vector<double>& values, std::size_t cols) {
  Json rows = Json::array();
  for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(cols)) {
    rows.push_back(std::vector<double>(row, row + static_cast<std::ptrdiff_t>(cols)));
  }
  return rows;
}

Json json_of(const PartPair& pair) {
  return {{"source", pair.source},
          {"target", pair.target},
          {"mass", pair.mass},
          {"amplified", pair.amplified},
          {"similarity", pair.similarity},
          {"contribution", pair.contribution},
          {"share", pair.share}};
}

Json json_of(const Region& region) {
  return {{"source", region.source},
          {"target", region.target},
          {"mass", region.mass},
          {"similarity", region.similarity},
          {"contribution", region.contribution},
          {"share", region.share}};
}

Json json_of(const PriorReport& prior) {
  return {{"rounds", prior.rounds},
          {"trusted", prior.trusted()},
          {"doubt", name_of(prior.doubt)},
          {"map", prior.map},
          {"support", prior.support}};
}

// The members of explanations that were written before there were priors are absent.
void read_prior(const Json& json, Explanation& explanation) {
  const Json& params = json.at("params");
  explanation.params.prior = prior_from(params.value("prior", name_of(Prior::none)));
  if (!json.contains("prior") || json.at("prior").is_null()) return;
  const Json& prior = json.at("prior");
  PriorReport report;
  report.rounds = prior.at("rounds");
  report.doubt = fit_doubt_from(prior.at("doubt").get<std::string>());
  report.map = prior.at("map").get<AffineMap>();
  report.support = prior.at("support");
  explanation.prior = report;
}

std::vector<double> weights_from(const Json& json, std::size_t count) {
  auto weights = json.get<std::vector<double>>();
  if (weights.size() != count) throw Error("a marginal does not have its grid's number of cells");
  return weights;
}

std::vector<double> matrix_from(const Json& json, std::size_t rows, std::size_t cols) {
  std::vector<double> values;
  for (const Json& row : json) {
    for (const Json& value : row) values.push_back(value.get<double>());
    if (row.size() != cols) throw Error("a matrix has rows of another length");
  }
  if (json.size() != rows) throw Error("a matrix does not have a row for each source cell");
  return values;
}

Explanation parsed(const Json& json) {
  Explanation explanation;
  explanation.score = json.at("score");
  explanation.cosine = json.at("cosine");
  explanation.mean_similarity = json.at("mean_similarity");
  explanation.source = {json.at("rows_source"), json.at("cols_source")};
  explanation.target = {json.at("rows_target"), json.at("cols_target")};
  for (const GridShape& shape : {explanation.source, explanation.target}) {
    if (shape.rows < 1 || shape.cols < 1 || shape.rows > kMostCells || shape.cols > kMostCells) {
      throw Error("a grid has 1 to " + std::to_string(kMostCells) + " cells");
    }
  }
  const std::size_t rows = explanation.source.count();
  const std::size_t cols = explanation.target.count();
  explanation.source_marginal = weights_from(json.at("marginals").at("source"), rows);
  explanation.target_marginal = weights_from(json.at("marginals").at("target"), cols);
  explanation.similarity = matrix_from(json.at("similarity"), rows, cols);
  explanation.plan = matrix_from(json.at("plan"), rows, cols);
  const Json& params = json.at("params");
  explanation.params.marginals = marginal_rule_from(params.at("marginals").get<std::string>());
  explanation.params.transport.lambda = params.at("lambda");
  explanation.params.transport.mass = params.value("mass", 1.0);
  explanation.params.transport.backend = backend_from(params.at("solver").get<std::string>());
  explanation.weights = {params.value("global_weight", 1.0F),
                         params.value("structural_weight", 1.0F)};
  const Json& fallbacks = json.at("fallbacks");
  explanation.fallbacks = {fallbacks.at("uniform_source"), fallbacks.at("uniform_target"),
                           fallbacks.at("log_domain")};
  explanation.iterations = json.at("iterations");
  explanation.marginal_error = json.at("marginal_error");
  explanation.converged = json.at("converged");
  read_prior(json, explanation);
  explained::list_pairs(explanation);
  explained::find_regions(explanation);
  return explanation;
}

}  // namespace

Json json_of(const Explanation& explanation, std::size_t most_pairs) {
  const TransportParams& transport = explanation.params.transport;
  Json json = {{"score", explanation.score},
               {"cosine", explanation.cosine},
               {"total", explanation.total()},
               {"mean_similarity", explanation.mean_similarity},
               {"rows_source", explanation.source.rows},
               {"cols_source", explanation.source.cols},
               {"rows_target", explanation.target.rows},
               {"cols_target", explanation.target.cols}};
  json["marginals"] = {{"source", explanation.source_marginal},
                       {"target", explanation.target_marginal}};
  json["similarity"] = matrix(explanation.similarity, explanation.target.count());
  json["plan"] = matrix(explanation.plan, explanation.target.count());
  json["regions"] = Json::array();
  for (const Region& region : explanation.regions) json["regions"].push_back(json_of(region));
  json["scattered"] = explanation.scattered;
  json["pairs"] = Json::array();
  const std::size_t listed = std::min(most_pairs, explanation.pairs.size());
  for (std::size_t k = 0; k < listed; ++k) json["pairs"].push_back(json_of(explanation.pairs[k]));
  json["weakest"] = Json::array();
  for (const PartPair& pair : explanation.weakest) json["weakest"].push_back(json_of(pair));
  json["params"] = {{"marginals", name_of(explanation.params.marginals)},
                    {"lambda", transport.lambda},
                    {"mass", transport.mass},
                    {"solver", name_of(transport.backend)},
                    {"prior", name_of(explanation.params.prior)},
                    {"global_weight", explanation.weights.global},
                    {"structural_weight", explanation.weights.structural}};
  json["prior"] = explanation.prior ? json_of(*explanation.prior) : Json();
  json["fallbacks"] = {{"uniform_source", explanation.fallbacks.uniform_source},
                       {"uniform_target", explanation.fallbacks.uniform_target},
                       {"log_domain", explanation.fallbacks.log_domain}};
  json["iterations"] = explanation.iterations;
  json["converged"] = explanation.converged;
  json["marginal_error"] = explanation.marginal_error;
  return json;
}

std::string to_json(const Explanation& explanation, std::size_t most_pairs) {
  return json_of(explanation, most_pairs).dump();
}

Explanation explanation_from_json(std::string_view text) {
  // All pairs of two large grids are many objects of few names each.
  if (const auto excess = excess_of(text, {.names = 1'000'000})) throw Error(*excess);
  try {
    return parsed(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("is not the JSON of an explanation: ") + error.what());
  }
}

}  // namespace diml
