#pragma once

#include <string>

#include "diml/run_experiments.h"

namespace diml::experiments {

// The weights file of a run that trains nothing: the starting weights, or those with the projection
// that the run asks for, made in `folder` where it is not there yet.
std::string untrained_weights(const PlannedRun& run, const std::string& folder,
                              const RunParams& params);

}  // namespace diml::experiments
