#pragma once

#include "models/model.h"
#include "training/train_config.h"

namespace diml::training {

// The network at the start of a run: weights to fine-tune or random ones, with a projection of
// model.dim (their own where it fits, else a random one), for photos of model.resize and
// model.crop.
Model starting_model(const TrainConfig& config, std::uint64_t seed);

}  // namespace diml::training
