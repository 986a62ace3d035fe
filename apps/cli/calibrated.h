#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "diml/embedding.h"
#include "diml/match.h"

namespace diml::cli {

// --no-calibration, and whether it was given.
void define_no_calibration(CLI::App& command, bool& ignored);

// Where the calibration of the model applies: each setting that the command line does not give.
struct CalibratedSettings {
  MatchParams& match;
  ScoreWeights& weights;
};

// Takes lambda and the structural weight from the calibration, each unless its option was given,
// and says in one line what was taken. grid: the one in use; a calibration for another grid is left
// alone, and that is said too. Returns the calibrated K, where there is one and --rerank was not
// given.
std::optional<std::size_t> use_calibration(const std::optional<Calibration>& calibration,
                                           std::size_t grid, const CLI::App& command,
                                           const CalibratedSettings& settings);

}  // namespace diml::cli
