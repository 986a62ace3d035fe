#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <torch/torch.h>

#include "diml/model.h"

namespace diml::training {

// Everything that a run needs to go on as if nothing had happened. What is drawn at random follows
// from the seed, the epoch and the step, so there is no state of random generators in it.
struct Checkpoint {
  std::size_t epochs_done = 0;
  std::size_t steps_done = 0;  // of the epoch that is under way
  double loss_sum = 0.0;       // over them
  std::size_t replaced = 0;    // draws of them, where bad photos are skipped
  double best_p_at_1 = -1.0;
  std::size_t best_epoch = 0;
  Model model;
  std::map<std::string, torch::Tensor> tensors;  // "optimiser.", "loss.", "ema."
};

// In one file, which replaces the one before only when it is whole and on disk.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::string& path, const Model& shape);

}  // namespace diml::training
