#pragma once

#include <cstdint>
#include <span>

#include "diml/train.h"
#include "learn/sampler.h"
#include "training/train_config.h"
#include "training/training_data.h"

namespace diml::training {

// The batch that was asked for, where the training images suffice for it. Where they do not, the
// largest that they allow: first fewer classes, then fewer images of each, never fewer than two of
// both. Where even that does not fit it is returned as it is, and make_sampler() says why.
learn::SamplerParams fitted_batch(const learn::SamplerParams& asked,
                                  std::span<const std::int64_t> labels);

// asked: the batch before fitted_batch(); the config has the fitted one.
TrainPlan plan_of(const TrainConfig& config, const learn::SamplerParams& asked,
                  const TrainingData& data);

// The settings that the plan chose, as a configuration has them: "sampler.batch=8".
std::string chosen_settings(const TrainPlan& plan);

}  // namespace diml::training
