#pragma once

#include <vector>

#include "learn/optimiser.h"
#include "learn/trainable_network.h"
#include "training/train_config.h"

namespace diml::training {

// What a run trains and how fast: the backbone, whole or part by part, the projection, and what the
// loss learns.
std::vector<learn::LearningGroup> learning_groups(const TrainConfig& config,
                                                  const learn::TrainableNetwork& network,
                                                  const std::vector<learn::LossParameter>& of_loss);

}  // namespace diml::training
