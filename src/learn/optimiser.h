#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace diml::learn {

struct OptimiserParams {
  std::string name = "adam";    // adam, adamw or sgd
  double learning_rate = 1e-5;  // paper, appendix A; of the backbone
  double weight_decay = 4e-4;   // paper, appendix A; adam and sgd add it to the gradient
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum = 0.9;  // of sgd
};

// Parameters and their learning rate.
struct LearningGroup {
  std::string name;  // "backbone", "projection", "proxies"
  double learning_rate = 0.0;
  double weight_decay = 0.0;
  std::map<std::string, torch::Tensor> values;
};

// Steps for all groups. Its state is saved and loaded as named tensors.
class Optimiser {
 public:
  Optimiser(OptimiserParams params, std::vector<LearningGroup> groups);

  void zero_gradients();
  // factor: of every learning rate, by the schedule.
  void step(double factor);
  // The length of the whole gradient, a scalar on its device. Clips the gradient to `longest` where
  // that is above 0.
  torch::Tensor clip(double longest);

  const std::vector<LearningGroup>& groups() const { return groups_; }
  std::map<std::string, torch::Tensor> state() const;
  void load(const std::map<std::string, torch::Tensor>& state);

 private:
  OptimiserParams params_;
  std::vector<LearningGroup> groups_;
  std::int64_t steps_ = 0;
  // One for each value, in the order of the groups.
  std::vector<std::vector<torch::Tensor>> first_;   // mean of gradients, or momentum
  std::vector<std::vector<torch::Tensor>> second_;  // mean of their squares
};

}  // namespace diml::learn
