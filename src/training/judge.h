#pragma once

#include "diml/evaluate_dataset.h"
#include "diml/train.h"
#include "models/model.h"
#include "ranks.h"
#include "training/train_config.h"

namespace diml::training {

// Evaluates the model as `diml evaluate --model` does: evaluate_dataset() by all ranks. The hook
// cancels it on all of them.
DatasetEvaluation evaluate_model(const Model& model, const LabelledImages& images,
                                 const TrainConfig& config, Ranks& ranks, const TrainHooks& hooks);

// The number of threads that decode while others train.
std::size_t loader_threads(const TrainConfig& config);

}  // namespace diml::training
