#pragma once

#include <functional>
#include <map>
#include <string>

#include "diml/run_experiments.h"

namespace diml::experiments {

struct Seen {
  std::map<std::string, double> numbers;  // percentages
  std::size_t images = 0;
  double seconds = 0.0;
};

// Looks at a network in all the ways that the cells ask for; what they share is embedded once.
// Returns whether it came to the end.
bool look_at_network(const std::string& model, bool projection,
                     const std::vector<PlannedCell>& cells, const RunParams& params,
                     const std::function<bool()>& stop,
                     const std::function<void(const PlannedCell&, const Seen&)>& sink);

}  // namespace diml::experiments
