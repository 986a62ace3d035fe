#pragma once

#include <string>

#include "experiments/run_experiments.h"

namespace diml::experiments {

// The weights file of an untrained network: the starting weights, or a copy with the projection of
// the spec, which is written to `folder` where it is missing.
std::string untrained_weights(const NetworkSpec& network, const std::string& folder,
                              const RunParams& params);

}  // namespace diml::experiments
