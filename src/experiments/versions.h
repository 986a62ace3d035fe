#pragma once

#include <string>
#include <vector>

#include "experiments/experiments.h"

namespace diml::experiments {

// Versions of the parts of the program that decide a network's training, or its evaluation by a
// protocol. A change that gives other values with the same settings raises the version of its part
// in versions.cpp; results of an older version are then stale and made again.
Settings training_versions(const Settings& settings);
Settings evaluation_versions(const Protocol& protocol, MetricFamily metric_family);

// A part without a recorded version has version 1.
std::string version_in(const Settings& versions, const std::string& part);

// The parts that changed since the result was made: "projection 1, now 2 (initialised ...)".
std::vector<std::string> stale_parts(const Result& result, MetricFamily metric_family);

}  // namespace diml::experiments
