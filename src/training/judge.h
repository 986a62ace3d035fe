#pragma once

#include <optional>
#include <vector>

#include <torch/torch.h>

#include "diml/evaluate.h"
#include "diml/model.h"
#include "diml/train_call.h"
#include "ranks.h"
#include "training_data.h"

namespace diml::training {

struct Judgement {
  std::vector<RerankResult> results;
  std::size_t judged = 0;        // files that could be read
  std::vector<std::string> bad;  // why the others could not: paths and reasons
};

// Embeds the files with the model and evaluates them: what `diml evaluate --model` would say. Every
// rank embeds its share; what came of it is on the one that writes, the others get nothing.
// nullopt, on all of them, where the hook stopped it.
std::optional<Judgement> evaluate_model(const Model& model, const LabelledFiles& files,
                                        Orientation orientation, const learn::TrainConfig& config,
                                        Ranks& ranks, const TrainHooks& hooks);

// Threads that decode beside those that train.
std::size_t loader_threads(const learn::TrainConfig& config);

}  // namespace diml::training
