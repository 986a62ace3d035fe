#pragma once

#include <cmath>
#include <numbers>

#include "training/train_config.h"

namespace diml::training {

// The factor of every learning rate. progress: completed epochs, with fractions.
inline double rate_factor(const ScheduleParams& schedule, double progress, std::size_t epochs) {
  const auto warm_up = static_cast<double>(schedule.warm_up_epochs);
  double factor = 1.0;
  if (progress < warm_up) factor = progress / warm_up;
  if (schedule.name == "step") {
    for (const std::size_t step : schedule.steps) {
      if (progress >= static_cast<double>(step)) factor *= schedule.gamma;
    }
  } else if (schedule.name == "cosine" && progress >= warm_up) {
    const double share = (progress - warm_up) / (static_cast<double>(epochs) - warm_up);
    factor *= 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(1.0, share)));
  }
  return factor;
}

}  // namespace diml::training
