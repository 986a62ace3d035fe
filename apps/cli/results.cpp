#include "results.h"

#include <cstdio>

#include "search/name_json.h"

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

Json json_of(const Interval& interval) {
  return Json::array({kPercent * interval.low, kPercent * interval.high});
}

Json json_of(const MetricIntervals& intervals) {
  return {{"p_at_1", json_of(intervals.p_at_1)},
          {"r_precision", json_of(intervals.r_precision)},
          {"map_at_r", json_of(intervals.map_at_r)}};
}

Json json_of(const RerankGain& gain) {
  Json json = {{"rerank", gain.rerank},
               {"over", 0},
               {"p_at_1", kPercent * gain.p_at_1},
               {"r_precision", kPercent * gain.r_precision},
               {"map_at_r", kPercent * gain.map_at_r}};
  if (gain.intervals) json["intervals"] = json_of(*gain.intervals);
  json["fixed"] = gain.fixed;
  json["broken"] = gain.broken;
  json["same"] = gain.same;
  json["summary"] = gain.summary();
  return json;
}

void print_intervals(const char* of, std::size_t rerank, const MetricIntervals& intervals,
                     const char* format) {
  std::printf("%4s%8zu", of, rerank);
  for (const Interval& interval : {intervals.p_at_1, intervals.r_precision, intervals.map_at_r}) {
    char text[64];
    std::snprintf(text, sizeof(text), format, kPercent * interval.low, kPercent * interval.high);
    std::printf(" %18s", text);
  }
  std::printf("\n");
}

void print_comparison(const Evaluation& evaluation, const Comparison& comparison) {
  const DepthComparison& depths = comparison.depths;
  if (!depths.intervals.empty()) {
    std::printf("\n%g %% intervals, from %zu resamples of the queries (seed %llu):\n\n",
                kPercent * comparison.bootstrap.level, comparison.bootstrap.resamples,
                static_cast<unsigned long long>(comparison.bootstrap.seed));
    std::printf("%4s%8s %18s %18s %18s\n", "", "rerank", "P@1", "RP", "MAP@R");
    for (std::size_t r = 0; r < evaluation.results.size(); ++r) {
      print_intervals("", evaluation.results[r].rerank, depths.intervals[r], "%.2f to %.2f");
    }
    for (const RerankGain& gain : depths.gains) {
      if (gain.intervals) print_intervals("gain", gain.rerank, *gain.intervals, "%+.2f to %+.2f");
    }
  }
  if (!depths.gains.empty()) std::printf("\n");
  for (const RerankGain& gain : depths.gains) std::printf("%s\n", gain.summary().c_str());
}

}  // namespace

Json to_json(const Evaluation& evaluation, const Comparison& comparison, bool per_class,
             const std::vector<std::string>& class_names, bool labels_are_names) {
  Json json = {{"queries", evaluation.queries},
               {"left_out", evaluation.left_out},
               {"unlabelled", evaluation.unlabelled},
               {"gallery", evaluation.gallery}};
  json["results"] = Json::array();
  const std::vector<MetricIntervals>& intervals = comparison.depths.intervals;
  for (std::size_t r = 0; r < evaluation.results.size(); ++r) {
    const RerankResult& result = evaluation.results[r];
    Json one = {{"rerank", result.rerank}};
    add_metrics(one, result.metrics, evaluation.recall_ks);
    if (!intervals.empty()) one["intervals"] = json_of(intervals[r]);
    if (per_class) {
      one["classes"] = Json::array();
      for (const auto& [label, metrics] : result.per_class) {
        const auto place = static_cast<std::size_t>(label);
        const bool named = label >= 0 && place < class_names.size();
        Json of_class = Json::object();
        put_name(of_class, "label",
                 named && labels_are_names ? class_names[place] : std::to_string(label));
        of_class["queries"] = metrics.queries;
        if (named) put_name(of_class, "name", class_names[place]);
        add_metrics(of_class, metrics, evaluation.recall_ks);
        one["classes"].push_back(std::move(of_class));
      }
    }
    json["results"].push_back(std::move(one));
  }
  json["gains"] = Json::array();
  for (const RerankGain& gain : comparison.depths.gains) json["gains"].push_back(json_of(gain));
  if (!intervals.empty()) {
    json["confidence"] = {{"level", kPercent * comparison.bootstrap.level},
                          {"resamples", comparison.bootstrap.resamples},
                          {"seed", comparison.bootstrap.seed}};
  }
  if (evaluation.nmi) json["nmi"] = kPercent * *evaluation.nmi;
  json["seconds"] = {{"first_stage", evaluation.first_stage_seconds},
                     {"rerank", evaluation.rerank_seconds}};
  return json;
}

void print_table(const Evaluation& evaluation, const Comparison& comparison) {
  std::printf("%zu queries", evaluation.queries);
  if (evaluation.gallery != evaluation.queries + evaluation.left_out) {
    std::printf(" in a gallery of %zu", evaluation.gallery);
  }
  if (evaluation.left_out > 0) {
    std::printf(" (%zu left out: no other image of their class to find)", evaluation.left_out);
  }
  if (evaluation.unlabelled > 0) {
    std::printf("; %zu images without a label took no part", evaluation.unlabelled);
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
  print_comparison(evaluation, comparison);
  if (evaluation.nmi) std::printf("\nNMI %.2f\n", kPercent * *evaluation.nmi);
  std::printf("\nfirst stage %.2f s, re-ranking %.2f s\n", evaluation.first_stage_seconds,
              evaluation.rerank_seconds);
}

}  // namespace diml::cli
