#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "training/train_config.h"

namespace diml::test {

// Every setting has a value other than the default, and one that is hard to print.
inline training::TrainConfig odd_config() {
  training::TrainConfig config;
  config.dataset.name = "yes: no";
  config.dataset.root = "/photos of \"birds\"/#1, \xC3\xA4/\ttab\nline";
  config.dataset.skip_bad = true;
  config.model.weights = "~";
  config.model.architecture = "1e5";
  config.model.dim = 511;
  config.model.resize = 289;
  config.model.crop = 257;
  config.loss.name = "true";
  config.loss.miner = "null";
  config.loss.numbers = {{"margin", 0.1}, {"beta", -1e-300}};
  config.loss.miner_numbers = {{"lower", 1.0 / 3.0}};
  config.measure.kind = learn::MeasureKind::blended;
  config.measure.plan_gradient = learn::PlanGradient::unrolled;
  config.measure.match.marginals = MarginalRule::uniform;
  config.measure.match.transport.lambda = 0.1 + 0.2;
  config.measure.match.transport.tolerance = 5e-324;
  config.measure.match.transport.max_iterations = -7;
  config.measure.backend = Backend::exact;
  config.grid = 7;
  config.pooling = PoolingRule::roi_align;
  config.sampler.name = "'";
  config.sampler.batch = 18446744073709551615U;
  config.sampler.per_class = 3;
  config.optimiser.name = "[sgd]";
  config.optimiser.learning_rate = 1e-5 / 3;
  config.optimiser.weight_decay = 1e23;
  config.optimiser.beta1 = 0.91;
  config.optimiser.beta2 = 0.9999999;
  config.optimiser.epsilon = 1e-9;
  config.optimiser.momentum = 0.89;
  config.projection_rate = 1.7976931348623157e308;
  config.clip = 2.5;
  config.ema = 0.999;
  config.schedule.name = "{}";
  config.schedule.warm_up_epochs = 5;
  config.schedule.steps = {3, 30, 300};
  config.schedule.gamma = 0.1;
  config.augment = {0.2, 0.9, 0.5, 2.0, 0.25};
  config.evaluate.every = 4;
  config.evaluate.rerank = {1};
  config.evaluate.precision = Precision::bfloat16;
  config.evaluate.patience = 9;
  config.evaluate.select = "*val";
  config.epochs = 2;
  config.seed = 9223372036854775808U;
  config.device = "cuda:1";
  config.precision = Precision::bfloat16;
  config.threads = -1;
  config.cache_mb = 0;
  config.checkpoint_epochs = 6;
  config.checkpoint_steps = 1000000;
  return config;
}

inline std::vector<std::pair<std::string, std::string>> default_settings() {
  const training::TrainConfig defaults;  // named: gcc 12 warns of a temporary
  return training::settings_of(defaults);
}

}  // namespace diml::test
