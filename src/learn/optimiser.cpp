#include "learn/optimiser.h"

#include <cmath>

#include "diml/error.h"

namespace diml::learn {

Optimiser::Optimiser(OptimiserParams params, std::vector<LearningGroup> groups)
    : params_(std::move(params)), groups_(std::move(groups)) {
  if (params_.name != "adam" && params_.name != "adamw" && params_.name != "sgd") {
    throw Error("there is no optimiser '" + params_.name + "': adam, adamw, sgd");
  }
  const torch::NoGradGuard no_gradient;
  for (const LearningGroup& group : groups_) {
    first_.emplace_back();
    second_.emplace_back();
    for (const auto& [name, value] : group.values) {
      first_.back().push_back(torch::zeros_like(value));
      if (params_.name != "sgd") second_.back().push_back(torch::zeros_like(value));
    }
  }
}

void Optimiser::zero_gradients() {
  for (LearningGroup& group : groups_) {
    for (auto& [name, value] : group.values) value.mutable_grad() = torch::Tensor();
  }
}

torch::Tensor Optimiser::clip(double longest) {
  const torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> gradients;
  for (const LearningGroup& group : groups_) {
    for (const auto& [name, value] : group.values) {
      if (value.grad().defined()) gradients.push_back(value.grad());
    }
  }
  if (gradients.empty()) return torch::zeros({}, torch::kFloat64);
  const torch::Tensor length =
      torch::stack(at::_foreach_norm(gradients)).to(torch::kFloat64).norm();
  if (longest > 0.0) {
    const torch::Tensor factor = (longest / length).clamp_max(1.0);
    for (torch::Tensor& gradient : gradients) gradient.mul_(factor);
  }
  return length;
}

void Optimiser::step(double factor) {
  const torch::NoGradGuard no_gradient;
  ++steps_;
  const double correction1 = 1.0 - std::pow(params_.beta1, static_cast<double>(steps_));
  const double correction2 = 1.0 - std::pow(params_.beta2, static_cast<double>(steps_));
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const double rate = groups_[g].learning_rate * factor;
    const double decay = groups_[g].weight_decay;
    // Lists, so that a GPU runs a few kernels and not one for every array.
    std::vector<torch::Tensor> values, gradients, first, second;
    std::size_t k = 0;
    for (const auto& [name, value] : groups_[g].values) {
      if (value.grad().defined()) {
        values.push_back(value);
        gradients.push_back(value.grad());
        first.push_back(first_[g][k]);
        if (params_.name != "sgd") second.push_back(second_[g][k]);
      }
      ++k;
    }
    if (values.empty()) continue;
    if (params_.name == "adamw") {
      at::_foreach_mul_(values, 1.0 - rate * decay);
    } else if (decay != 0.0) {
      at::_foreach_add_(gradients, values, decay);
    }
    if (params_.name == "sgd") {
      at::_foreach_mul_(first, params_.momentum);
      at::_foreach_add_(first, gradients, 1.0);
      at::_foreach_add_(values, first, -rate);
      continue;
    }
    at::_foreach_mul_(first, params_.beta1);
    at::_foreach_add_(first, gradients, 1.0 - params_.beta1);
    at::_foreach_mul_(second, params_.beta2);
    at::_foreach_addcmul_(second, gradients, gradients, 1.0 - params_.beta2);
    std::vector<torch::Tensor> scale = at::_foreach_sqrt(second);
    at::_foreach_div_(scale, std::sqrt(correction2));
    at::_foreach_add_(scale, params_.epsilon);
    at::_foreach_addcdiv_(values, first, scale, -rate / correction1);
  }
}

std::map<std::string, torch::Tensor> Optimiser::state() const {
  std::map<std::string, torch::Tensor> state;
  state["steps"] = torch::tensor(steps_, torch::kInt64);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::size_t k = 0;
    for (const auto& [name, value] : groups_[g].values) {
      state["first." + groups_[g].name + "." + name] = first_[g][k];
      if (params_.name != "sgd") state["second." + groups_[g].name + "." + name] = second_[g][k];
      ++k;
    }
  }
  return state;
}

void Optimiser::load(const std::map<std::string, torch::Tensor>& state) {
  const torch::NoGradGuard no_gradient;
  std::map<std::string, torch::Tensor> own = this->state();
  for (auto& [name, value] : own) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.sizes() != value.sizes()) {
      throw Error(ErrorKind::conflict,
                  "the checkpoint's optimiser does not fit: '" + name +
                      "' is missing or has another shape; was the configuration changed?");
    }
    if (name == "steps") {
      steps_ = found->second.item<std::int64_t>();
    } else {
      value.copy_(found->second);
    }
  }
}

}  // namespace diml::learn
