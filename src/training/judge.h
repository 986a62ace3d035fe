#pragma once

#include <optional>

#include "diml/evaluate_dataset.h"
#include "diml/learn/train_config.h"
#include "diml/model.h"
#include "diml/train_call.h"
#include "ranks.h"

namespace diml::training {

// What `diml evaluate --model` would say of the model: evaluate_dataset() by all ranks. nullopt, on
// all of them, where the hook stopped it.
std::optional<DatasetEvaluation> evaluate_model(const Model& model, const LabelledImages& images,
                                                const learn::TrainConfig& config, Ranks& ranks,
                                                const TrainHooks& hooks);

// Threads that decode beside those that train.
std::size_t loader_threads(const learn::TrainConfig& config);

}  // namespace diml::training
