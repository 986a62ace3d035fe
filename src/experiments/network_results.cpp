#include "network_results.h"

#include <algorithm>
#include <tuple>

#include "base/setting_text.h"
#include "base/stopwatch.h"
#include "diml/dataset.h"
#include "diml/evaluate_dataset.h"
#include "engine/calibrate_dataset.h"
#include "engine/embed_parts.h"
#include "protocol.h"

namespace diml::experiments {
namespace {

using Results = std::vector<const PlannedResult*>;

constexpr double kPercent = 100.0;

// Results with the same key share their grids, and parts their plans.
auto grids_key(const PlannedResult& result) {
  const Protocol& protocol = result.protocol;
  return std::make_tuple(result.metric_family, protocol.split, protocol.grid, protocol.pooling,
                         protocol.resize, protocol.crop, protocol.setting,
                         result.metric_family == MetricFamily::parts ? protocol.lambda : 0.0,
                         result.metric_family == MetricFamily::parts ? protocol.mass : 1.0);
}

Dataset images_of(EvaluationSplit split, const RunParams& params) {
  if (split == EvaluationSplit::test) {
    return load_dataset(params.dataset, params.root, Split::test);
  }
  Dataset data = load_dataset(params.dataset, params.root, Split::train);
  const std::set<std::int64_t> held_out = held_out_classes(data);
  std::erase_if(data.samples,
                [&](const Sample& sample) { return !held_out.contains(sample.label); });
  return data;
}

MatchParams match_params(const Protocol& protocol) {
  MatchParams match;
  match.marginals = protocol.marginals;
  match.transport.lambda = protocol.lambda;
  match.transport.mass = protocol.mass;
  return match;
}

EvaluateParams evaluate_params(const PlannedResult& result, int threads) {
  const Protocol& protocol = result.protocol;
  EvaluateParams evaluate;
  evaluate.rerank = {protocol.rerank};
  evaluate.cut_from = protocol.cut_from;
  evaluate.weights = {static_cast<float>(protocol.global_weight),
                      static_cast<float>(protocol.structural_weight)};
  evaluate.match = match_params(protocol);
  evaluate.threads = threads;
  // The test classes are evaluated once, after a choice: record the plain cosine as well.
  if (!result.chosen.empty()) evaluate.rerank.push_back(0);
  return evaluate;
}

MetricValues retrieval_metrics(const PlannedResult& result, const Evaluation& evaluation) {
  const RetrievalMetrics& metrics = evaluation.results.front().metrics;
  MetricValues values = {{"p_at_1", kPercent * metrics.p_at_1},
                         {"r_precision", kPercent * metrics.r_precision},
                         {"map_at_r", kPercent * metrics.map_at_r},
                         {"r_precision_paper", kPercent * metrics.r_precision_paper},
                         {"map_at_r_paper", kPercent * metrics.map_at_r_paper}};
  if (!result.chosen.empty()) {
    values["p_at_1_by_cosine"] = kPercent * evaluation.results.back().metrics.p_at_1;
  }
  return values;
}

// The training classes that a calibrated setting is chosen on.
Dataset calibration_images(const Protocol& protocol, const RunParams& params) {
  if (protocol.setting == kCalibratedHeldOut) return images_of(EvaluationSplit::val, params);
  return load_dataset(params.dataset, params.root, Split::train);
}

// The protocol with what the training classes choose; `chosen` gets it as numbers.
Protocol calibrated(Protocol protocol, const std::string& model, bool projection,
                    const RunParams& params, const Progress& until_cancelled,
                    MetricValues& chosen) {
  const LabelledImages images = labelled_images(calibration_images(protocol, params));
  const auto open = [&](std::size_t grid) {
    Protocol with_grid = protocol;
    with_grid.grid = grid;
    return open_embedder(model, projection, with_grid, params);
  };
  CalibrateDatasetParams calibrate;
  calibrate.how.match.marginals = protocol.marginals;
  calibrate.how.threads = params.threads;
  const Calibration best =
      calibrate_dataset(open, images, calibrate,
                        {.on_embed = [&](std::size_t) { return until_cancelled; },
                         .on_calibrate = until_cancelled})
          .result.chosen;
  protocol.grid = best.grid;
  protocol.lambda = best.lambda;
  protocol.structural_weight = best.structural_weight;
  protocol.rerank = best.rerank;
  chosen = {{"calibrated_grid", static_cast<double>(best.grid)},
            {"calibrated_lambda", best.lambda},
            {"calibrated_structural_weight", best.structural_weight},
            {"calibrated_rerank", static_cast<double>(best.rerank)},
            {"calibration_p_at_1", best.value},
            {"calibration_p_at_1_paper", best.paper},
            {"calibration_gain_error", best.gain_error}};
  return protocol;
}

void measure_retrieval(Embedder& embedder, const Dataset& data, const Results& results, int threads,
                       const Progress& until_cancelled, const OnMeasurement& on_measurement) {
  Stopwatch watch;
  const LabelledImages images = labelled_images(data);
  EvaluateDatasetParams params;
  params.ways.clear();
  for (const PlannedResult* result : results) {
    params.ways.push_back(evaluate_params(*result, threads));
  }
  const auto on_result = [&](std::size_t k, const Evaluation& evaluation) {
    on_measurement(*results[k], {retrieval_metrics(*results[k], evaluation), images.paths.size(),
                                 watch.restart()});
  };
  evaluate_dataset(
      embedder, images, params,
      {.on_embed = until_cancelled, .on_evaluate = until_cancelled, .on_result = on_result});
}

void measure_parts(Embedder& embedder, const Dataset& data, const Results& results, int threads,
                   const Progress& until_cancelled, const OnMeasurement& on_measurement) {
  const Stopwatch watch;
  const PartGrids grids = embed_parts(embedder, data, {}, until_cancelled);
  const std::vector<PartMethod> methods =
      judge_parts(grids.grids.view(), grids.shape, grids.parts, grids.pairs,
                  {match_params(results.front()->protocol), threads});
  const double seconds = watch.seconds() / static_cast<double>(results.size());
  for (const PlannedResult* result : results) {
    const auto method = std::find_if(methods.begin(), methods.end(), [&](const PartMethod& each) {
      return each.name == result->protocol.method;
    });
    on_measurement(*result, {{{"exact", kPercent * method->exact},
                              {"within_one", kPercent * method->within_one},
                              {"exact_error", kPercent * method->exact_error},
                              {"within_one_error", kPercent * method->within_error}},
                             grids.labels.size(),
                             seconds});
  }
}

}  // namespace

Embedder open_embedder(const std::string& model, bool projection, const Protocol& protocol,
                       const RunParams& params) {
  EmbeddingParams embedding{.model = model,
                            .grid = protocol.grid,
                            .pooling = protocol.pooling,
                            .projection = projection,
                            .device = params.device,
                            .threads = params.threads};
  if (protocol.resize) embedding.preprocessing["resize"] = text::to_text(*protocol.resize);
  if (protocol.crop) embedding.preprocessing["crop"] = text::to_text(*protocol.crop);
  return diml::open_embedder(embedding);
}

// A calibrated result by itself: its grid is known only when its setting is chosen.
static void measure_calibrated(const std::string& model, bool projection, const Dataset& data,
                               const PlannedResult& planned, const RunParams& params,
                               const Progress& until_cancelled,
                               const OnMeasurement& on_measurement) {
  MetricValues chosen;
  PlannedResult own = planned;
  own.protocol = calibrated(planned.protocol, model, projection, params, until_cancelled, chosen);
  Embedder embedder = open_embedder(model, projection, own.protocol, params);
  const auto report = [&](const PlannedResult&, const Measurement& measured) {
    Measurement with_choice = measured;
    with_choice.metrics.insert(chosen.begin(), chosen.end());
    on_measurement(planned, with_choice);
  };
  measure_retrieval(embedder, data, {&own}, params.threads, until_cancelled, report);
}

void evaluate_network(const std::string& model, bool projection,
                      const std::vector<PlannedResult>& results, const RunParams& params,
                      const Progress& until_cancelled, const OnMeasurement& on_measurement) {
  Results left;
  for (const PlannedResult& result : results) left.push_back(&result);
  while (!left.empty()) {
    until_cancelled.stop_if_cancelled();
    const PlannedResult& first = *left.front();
    const auto others = std::stable_partition(
        left.begin(), left.end(),
        [&](const PlannedResult* result) { return grids_key(*result) == grids_key(first); });
    const Results group(left.begin(), others);
    left.erase(left.begin(), others);
    const Dataset data = images_of(first.protocol.split, params);
    if (!first.protocol.setting.empty()) {
      for (const PlannedResult* result : group) {
        measure_calibrated(model, projection, data, *result, params, until_cancelled,
                           on_measurement);
      }
      continue;
    }
    Embedder embedder = open_embedder(model, projection, first.protocol, params);
    if (first.metric_family == MetricFamily::parts) {
      measure_parts(embedder, data, group, params.threads, until_cancelled, on_measurement);
    } else {
      measure_retrieval(embedder, data, group, params.threads, until_cancelled, on_measurement);
    }
  }
}

}  // namespace diml::experiments
