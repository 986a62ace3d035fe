// Against the plain formulas, in double.

#include "learn/optimiser.h"

#include <cmath>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml::learn {
namespace {

using Values = std::vector<double>;

torch::Tensor tensor_of(const Values& values) {
  return torch::tensor(values, torch::kFloat64).set_requires_grad(true);
}
Values values_of(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

// What the gradient is at step t: any numbers will do.
double gradient_at(std::size_t k, int t) {
  return std::sin(1.7 * static_cast<double>(k) + 0.9 * t) * (t == 2 ? 100.0 : 1.0);
}
void put_gradients(const std::vector<LearningGroup>& groups, int t) {
  std::size_t k = 0;
  for (const LearningGroup& group : groups) {
    for (const auto& [name, value] : group.values) {
      Values gradient;
      for (std::int64_t i = 0; i < value.numel(); ++i) gradient.push_back(gradient_at(k++, t));
      torch::Tensor target = value;
      target.mutable_grad() = torch::tensor(gradient, torch::kFloat64);
    }
  }
}

std::vector<LearningGroup> two_groups() {
  return {{"backbone", 0.1, 0.02, {{"a", tensor_of({1.0, -2.0})}, {"b", tensor_of({0.5})}}},
          {"proxies", 0.7, 0.0, {{"p", tensor_of({3.0, 0.1, -0.4})}}}};
}

struct Element {
  double value;
  double rate;
  double decay;
  double first = 0.0;
  double second = 0.0;
};

void plain_step(const OptimiserParams& params, Element& e, double gradient, double factor, int t) {
  const double rate = e.rate * factor;
  if (params.name == "adamw") {
    e.value -= rate * e.decay * e.value;
  } else {
    gradient += e.decay * e.value;
  }
  if (params.name == "sgd") {
    e.first = params.momentum * e.first + gradient;
    e.value -= rate * e.first;
    return;
  }
  e.first = params.beta1 * e.first + (1.0 - params.beta1) * gradient;
  e.second = params.beta2 * e.second + (1.0 - params.beta2) * gradient * gradient;
  const double mean = e.first / (1.0 - std::pow(params.beta1, t));
  const double square = e.second / (1.0 - std::pow(params.beta2, t));
  e.value -= rate * mean / (std::sqrt(square) + params.epsilon);
}

TEST(Optimiser, StepsAsTheFormulasSay) {
  for (const char* name : {"adam", "adamw", "sgd"}) {
    OptimiserParams params;
    params.name = name;
    params.epsilon = 1e-3;
    const std::vector<LearningGroup> groups = two_groups();
    Optimiser optimiser(params, groups);
    std::vector<Element> elements;
    for (const LearningGroup& group : groups) {
      for (const auto& [key, value] : group.values) {
        for (const double v : values_of(value)) {
          elements.push_back({v, group.learning_rate, group.weight_decay});
        }
      }
    }
    for (int t = 1; t <= 6; ++t) {
      const double factor = 1.0 / t;
      optimiser.zero_gradients();
      put_gradients(groups, t);
      optimiser.step(factor);
      std::size_t k = 0;
      for (const LearningGroup& group : groups) {
        for (const auto& [key, value] : group.values) {
          for (const double v : values_of(value)) {
            plain_step(params, elements[k], gradient_at(k, t), factor, t);
            EXPECT_NEAR(v, elements[k].value, 1e-12) << name << ", step " << t << ", " << key;
            ++k;
          }
        }
      }
    }
  }
}

TEST(Optimiser, WhatHasNoGradientStays) {
  const std::vector<LearningGroup> groups = two_groups();
  Optimiser optimiser({}, groups);
  put_gradients(groups, 1);
  torch::Tensor still = groups[0].values.at("b");
  still.mutable_grad() = torch::Tensor();
  optimiser.step(1.0);
  EXPECT_EQ(values_of(still), Values{0.5});
  EXPECT_NE(values_of(groups[0].values.at("a")), (Values{1.0, -2.0}));
}

TEST(Optimiser, ClipShortensTheWholeGradient) {
  const std::vector<LearningGroup> groups = two_groups();
  Optimiser optimiser({}, groups);
  EXPECT_EQ(optimiser.clip(1.0).item<double>(), 0.0);  // none yet
  put_gradients(groups, 2);
  double squares = 0.0;
  for (std::size_t k = 0; k < 6; ++k) squares += gradient_at(k, 2) * gradient_at(k, 2);
  const double length = std::sqrt(squares);
  EXPECT_NEAR(optimiser.clip(0.0).item<double>(), length, 1e-10);     // no limit
  EXPECT_NEAR(optimiser.clip(1000.0).item<double>(), length, 1e-10);  // not so long
  EXPECT_NEAR(optimiser.clip(2.0).item<double>(), length, 1e-10);
  EXPECT_NEAR(optimiser.clip(0.0).item<double>(), 2.0, 1e-12);
  EXPECT_NEAR(values_of(groups[0].values.at("a").grad())[0], gradient_at(0, 2) * 2.0 / length,
              1e-12);
}

TEST(Optimiser, GoesOnFromItsState) {
  for (const char* name : {"adam", "adamw", "sgd"}) {
    OptimiserParams params;
    params.name = name;
    const std::vector<LearningGroup> whole = two_groups();
    const std::vector<LearningGroup> rest = two_groups();
    Optimiser first(params, whole);
    const auto step = [](Optimiser& optimiser, int t) {
      put_gradients(optimiser.groups(), t);
      optimiser.step(1.0);
    };
    for (int t = 1; t <= 3; ++t) step(first, t);
    Optimiser second(params, rest);
    second.load(first.state());
    for (std::size_t g = 0; g < whole.size(); ++g) {
      const torch::NoGradGuard no_gradient;
      for (const auto& [key, value] : rest[g].values) {
        torch::Tensor target = value;
        target.copy_(whole[g].values.at(key));
      }
    }
    for (int t = 4; t <= 6; ++t) {
      step(first, t);
      step(second, t);
    }
    for (std::size_t g = 0; g < whole.size(); ++g) {
      for (const auto& [key, value] : whole[g].values) {
        EXPECT_EQ(values_of(value), values_of(rest[g].values.at(key))) << name << " " << key;
      }
    }
  }
}

TEST(Optimiser, AnotherRunsStateIsRefused) {
  OptimiserParams sgd;
  sgd.name = "sgd";
  Optimiser without_squares(sgd, two_groups());
  Optimiser adam({}, two_groups());
  EXPECT_THROW(adam.load(without_squares.state()), Error);
  std::vector<LearningGroup> other = two_groups();
  other[1].values["p"] = tensor_of({1.0});
  Optimiser smaller({}, other);
  EXPECT_THROW(adam.load(smaller.state()), Error);
  sgd.name = "sdg";
  EXPECT_THROW(Optimiser(sgd, two_groups()), Error);
}

}  // namespace
}  // namespace diml::learn
