#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <torch/torch.h>

#include "models/model.h"

namespace diml::training {

// Everything that a run needs to resume with the same results. Random choices follow from the seed,
// the epoch and the step, so there is no state of random generators in it.
struct Checkpoint {
  std::size_t epochs_done = 0;
  std::size_t steps_done = 0;  // of the current epoch
  double loss_sum = 0.0;       // over them
  std::size_t replaced = 0;    // draws of them, where bad photos are skipped
  double best_p_at_1 = -1.0;
  std::size_t best_epoch = 0;
  Model model;
  std::map<std::string, torch::Tensor> tensors;  // "optimiser.", "loss.", "ema."
};

// In one file, which replaces the previous one only when it is complete and on disk.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::string& path, const Model& shape);

}  // namespace diml::training
