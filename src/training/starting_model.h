#pragma once

#include "diml/learn/train_config.h"
#include "diml/model.h"

namespace diml::training {

// The network as a run begins with it: weights to fine-tune or random ones, with a projection of
// model.dim (their own where it fits, else a random one), for photos of model.resize and
// model.crop.
Model starting_model(const learn::TrainConfig& config, std::uint64_t seed);

}  // namespace diml::training
