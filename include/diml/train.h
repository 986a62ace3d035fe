#pragma once

#include "diml/train_call.h"

namespace diml {

// With the TORCH feature. Throws what train() would of settings that are unknown or do not fit, and
// does nothing else.
void check_training(const TrainCall& call);
TrainSummary train(const TrainCall& call, const TrainHooks& hooks = {});

}  // namespace diml
