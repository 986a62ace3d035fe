#include "diml/train.h"

#include "engine/torch_plugin.h"

namespace diml {

void check_training(const TrainParams& params) { torch_plugin().check_training(params); }

TrainSummary train(const TrainParams& params, const TrainHooks& hooks) {
  return torch_plugin().train(params, hooks);
}

}  // namespace diml
