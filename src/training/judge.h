#pragma once

#include <optional>
#include <vector>

#include <torch/torch.h>

#include "diml/evaluate.h"
#include "diml/model.h"
#include "diml/train.h"
#include "ranks.h"
#include "training_data.h"

namespace diml::training {

// Embeds the files with the model and evaluates them: what `diml evaluate --model` would say. Every
// rank embeds its share; the numbers are on the one that writes, the others get none. nullopt, on
// all of them, where the hook stopped it.
std::optional<std::vector<RerankResult>> evaluate_model(const Model& model,
                                                        const LabelledFiles& files,
                                                        Orientation orientation,
                                                        const learn::TrainConfig& config,
                                                        Ranks& ranks, const TrainHooks& hooks);

// Threads that decode beside those that train.
std::size_t loader_threads(const learn::TrainConfig& config);

}  // namespace diml::training
