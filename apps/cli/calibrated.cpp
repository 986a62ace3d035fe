#include "calibrated.h"

#include "engine/process_group.h"
#include "messages.h"

namespace diml::cli {
namespace {

bool was_given(const CLI::App& command, const char* name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

// Several processes of one call say it once.
void say_once(const std::string& line) {
  if (process_place().rank == 0) say(LogLevel::warning, line);
}

}  // namespace

void define_no_calibration(CLI::App& command, bool& ignored) {
  command.add_flag("--no-calibration", ignored,
                   "The paper's setting, even where 'diml calibrate' chose another for the model");
}

std::optional<std::size_t> use_calibration(const std::optional<Calibration>& calibration,
                                           std::size_t grid, const CLI::App& command,
                                           const CalibratedSettings& settings) {
  if (!calibration || was_given(command, "--no-calibration")) return {};
  if (calibration->grid != grid) {
    say_once("calibration not used: it is for grid " + std::to_string(calibration->grid) +
             ", not " + std::to_string(grid));
    return {};
  }
  if (!was_given(command, "--lambda")) settings.match.transport.lambda = calibration->lambda;
  if (!was_given(command, "--structural-weight")) {
    settings.weights.structural = static_cast<float>(calibration->structural_weight);
  }
  std::optional<std::size_t> rerank;
  if (!was_given(command, "--rerank")) rerank = calibration->rerank;
  std::string kept;
  for (const char* name : {"--lambda", "--structural-weight", "--rerank"}) {
    if (was_given(command, name)) kept += (kept.empty() ? "" : ", ") + std::string(name);
  }
  say_once("calibrated setting of the model: " + setting_text(*calibration) +
           (kept.empty() ? "" : "; except " + kept + ", as given") +
           " (--no-calibration for the paper's)");
  return rerank;
}

}  // namespace diml::cli
