#include "results.h"

#include <cstdio>

namespace diml::cli {
namespace {

constexpr double kPercent = 100.0;

void add_metrics(Json& json, const RetrievalMetrics& metrics,
                 const std::vector<std::size_t>& recall_ks) {
  json["p_at_1"] = kPercent * metrics.p_at_1;
  json["r_precision"] = kPercent * metrics.r_precision;
  json["map_at_r"] = kPercent * metrics.map_at_r;
  json["r_precision_paper"] = kPercent * metrics.r_precision_paper;
  json["map_at_r_paper"] = kPercent * metrics.map_at_r_paper;
  Json recall = Json::object();
  for (std::size_t k = 0; k < recall_ks.size(); ++k) {
    recall[std::to_string(recall_ks[k])] = kPercent * metrics.recall_at[k];
  }
  json["recall_at"] = recall;
}

}  // namespace

Json to_json(const Evaluation& evaluation, bool per_class) {
  Json json = {{"queries", evaluation.queries},
               {"left_out", evaluation.left_out},
               {"gallery", evaluation.gallery}};
  json["results"] = Json::array();
  for (const RerankResult& result : evaluation.results) {
    Json one = {{"rerank", result.rerank}};
    add_metrics(one, result.metrics, evaluation.recall_ks);
    if (per_class) {
      one["classes"] = Json::array();
      for (const auto& [label, metrics] : result.per_class) {
        Json of_class = {{"label", label}, {"queries", metrics.queries}};
        add_metrics(of_class, metrics, evaluation.recall_ks);
        one["classes"].push_back(std::move(of_class));
      }
    }
    json["results"].push_back(std::move(one));
  }
  if (evaluation.nmi) json["nmi"] = kPercent * *evaluation.nmi;
  json["seconds"] = {{"first_stage", evaluation.first_stage_seconds},
                     {"rerank", evaluation.rerank_seconds}};
  return json;
}

void print_table(const Evaluation& evaluation) {
  std::printf("%zu queries", evaluation.queries);
  if (evaluation.gallery != evaluation.queries + evaluation.left_out) {
    std::printf(" in a gallery of %zu", evaluation.gallery);
  }
  if (evaluation.left_out > 0) {
    std::printf(" (%zu left out: no other image of their class to find)", evaluation.left_out);
  }
  std::printf("\n\n%8s %8s %8s %8s %10s %10s", "rerank", "P@1", "RP", "MAP@R", "RP paper",
              "MAP paper");
  for (const std::size_t k : evaluation.recall_ks) {
    if (k > 1) std::printf(" %6s", ("R@" + std::to_string(k)).c_str());
  }
  std::printf("\n");
  for (const RerankResult& result : evaluation.results) {
    const RetrievalMetrics& m = result.metrics;
    std::printf("%8zu %8.2f %8.2f %8.2f %10.2f %10.2f", result.rerank, kPercent * m.p_at_1,
                kPercent * m.r_precision, kPercent * m.map_at_r, kPercent * m.r_precision_paper,
                kPercent * m.map_at_r_paper);
    for (std::size_t k = 0; k < m.recall_at.size(); ++k) {
      if (evaluation.recall_ks[k] > 1) std::printf(" %6.2f", kPercent * m.recall_at[k]);
    }
    std::printf("\n");
  }
  if (evaluation.nmi) std::printf("\nNMI %.2f\n", kPercent * *evaluation.nmi);
  std::printf("\nfirst stage %.2f s, re-ranking %.2f s\n", evaluation.first_stage_seconds,
              evaluation.rerank_seconds);
}

}  // namespace diml::cli
