#include "checkpoint.h"

#include <bit>

#include "diml/error.h"
#include "learn/tensors.h"

namespace diml::training {
namespace {

const std::string kModel = "model.";

// Doubles by their bits: the same number is read back.
std::string bits_of(double value) { return std::to_string(std::bit_cast<std::uint64_t>(value)); }

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  Weights weights;
  for (const auto& [name, tensor] : checkpoint.model.tensors) {
    weights.tensors[kModel + name] = tensor;
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    weights.tensors[name] = learn::from_torch(tensor);
  }
  weights.metadata = {{"epochs_done", std::to_string(checkpoint.epochs_done)},
                      {"steps_done", std::to_string(checkpoint.steps_done)},
                      {"loss_sum", bits_of(checkpoint.loss_sum)},
                      {"replaced", std::to_string(checkpoint.replaced)},
                      {"best_p_at_1", bits_of(checkpoint.best_p_at_1)},
                      {"best_epoch", std::to_string(checkpoint.best_epoch)}};
  write_safetensors(path, weights);
}

Checkpoint load_checkpoint(const std::string& path, const Model& shape) {
  Weights weights = read_safetensors(path);
  Checkpoint checkpoint;
  checkpoint.model = shape;
  checkpoint.model.tensors.clear();
  for (auto& [name, tensor] : weights.tensors) {
    if (name.starts_with(kModel)) {
      checkpoint.model.tensors[name.substr(kModel.size())] = std::move(tensor);
    } else {
      checkpoint.tensors[name] = learn::to_torch(tensor);
    }
  }
  try {
    const auto number = [&](const char* name) { return std::stoull(weights.metadata.at(name)); };
    checkpoint.epochs_done = number("epochs_done");
    checkpoint.steps_done = number("steps_done");
    checkpoint.best_epoch = number("best_epoch");
    if (weights.metadata.contains("replaced")) checkpoint.replaced = number("replaced");
    checkpoint.loss_sum = std::bit_cast<double>(std::uint64_t{number("loss_sum")});
    checkpoint.best_p_at_1 = std::bit_cast<double>(std::uint64_t{number("best_p_at_1")});
  } catch (const std::logic_error&) {
    throw Error(ErrorKind::damaged, path + ": is not a checkpoint of a training run");
  }
  return checkpoint;
}

}  // namespace diml::training
