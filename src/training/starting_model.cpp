#include "starting_model.h"

#include "engine/open_network.h"

namespace diml::training {

Model starting_model(const TrainConfig& config, std::uint64_t seed) {
  const ModelParams& wanted = config.model;
  Model model;
  if (wanted.weights.empty()) {
    model = make_model(wanted.architecture, StridePlace::in_3x3, wanted.dim, seed);
  } else {
    model = load_model(located_model(wanted.weights));
    if (!model.has_projection() || model.output_channels() != wanted.dim) {
      add_projection(model, wanted.dim, seed);
    }
  }
  model.calibration.reset();  // it was for the weights before training
  if (wanted.resize > 0) model.preprocessing.resize = wanted.resize;
  if (wanted.crop > 0) model.preprocessing.crop = wanted.crop;
  check(model.preprocessing);
  return model;
}

}  // namespace diml::training
