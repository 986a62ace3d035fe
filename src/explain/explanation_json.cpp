#include "explanation_json.h"

#include <algorithm>
#include <cmath>

#include "diml/error.h"
#include "pairs.h"

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

std::vector<double> weights_from(const Json& json, std::size_t count) {
  auto weights = json.get<std::vector<double>>();
  if (weights.size() != count) throw Error("a marginal has not its grid's number of cells");
  return weights;
}

std::vector<double> matrix_from(const Json& json, std::size_t rows, std::size_t cols) {
  std::vector<double> values;
  for (const Json& row : json) {
    for (const Json& value : row) values.push_back(value.get<double>());
    if (row.size() != cols) throw Error("a matrix has rows of another length");
  }
  if (json.size() != rows) throw Error("a matrix has not a row for each source cell");
  return values;
}

Solver solver_from(const std::string& name) {
  for (const Solver solver : {Solver::reference, Solver::cpu, Solver::exact}) {
    if (name == name_of(solver)) return solver;
  }
  throw Error("there is no solver '" + name + "'");
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
  explanation.params.transport.solver = solver_from(params.at("solver"));
  const Json& fallbacks = json.at("fallbacks");
  explanation.fallbacks = {fallbacks.at("uniform_source"), fallbacks.at("uniform_target"),
                           fallbacks.at("log_domain")};
  explanation.iterations = json.at("iterations");
  explanation.marginal_error = json.at("marginal_error");
  explanation.converged = json.at("converged");
  explained::list_pairs(explanation);
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
  json["pairs"] = Json::array();
  const std::size_t listed = std::min(most_pairs, explanation.pairs.size());
  for (std::size_t k = 0; k < listed; ++k) json["pairs"].push_back(json_of(explanation.pairs[k]));
  json["weakest"] = Json::array();
  for (const PartPair& pair : explanation.weakest) json["weakest"].push_back(json_of(pair));
  json["params"] = {{"marginals", name_of(explanation.params.marginals)},
                    {"lambda", transport.lambda},
                    {"solver", name_of(transport.solver)}};
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
  try {
    return parsed(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("is no explanation as 'diml explain' writes it: ") + error.what());
  }
}

}  // namespace diml
