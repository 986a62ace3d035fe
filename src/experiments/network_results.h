#pragma once

#include <functional>
#include <string>

#include "diml/embedder.h"
#include "experiments/run_experiments.h"

namespace diml::experiments {

struct Measurement {
  MetricValues metrics;
  std::size_t images = 0;
  double seconds = 0.0;
};

using OnMeasurement = std::function<void(const PlannedResult&, const Measurement&)>;

// projection: whether the network's own projection is applied.
Embedder open_embedder(const std::string& model, bool projection, const Protocol& protocol,
                       const RunParams& params);

// Measures all planned results of a network; protocols with the same grids share one embedding of
// the images. It can be cancelled; what is measured so far has been told.
void evaluate_network(const std::string& model, bool projection,
                      const std::vector<PlannedResult>& results, const RunParams& params,
                      const Progress& until_cancelled, const OnMeasurement& on_measurement);

}  // namespace diml::experiments
