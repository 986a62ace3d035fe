#pragma once

#include "diml/train.h"

namespace diml::training {

// The implementation of diml::train() and diml::check_training(), in the plugin.
void check_run(const TrainParams& params);
TrainSummary run_training(const TrainParams& params, const TrainHooks& hooks);

}  // namespace diml::training
