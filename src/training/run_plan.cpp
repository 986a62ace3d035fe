#include "run_plan.h"

#include <algorithm>
#include <set>

namespace diml::training {
namespace {

using learn::SamplerParams;

constexpr const char* kOfClasses = "m_per_class";
constexpr std::size_t kFewest = 2;  // classes, and images of one: a loss compares both

std::size_t count_classes(std::span<const std::int64_t> labels) {
  return std::set<std::int64_t>(labels.begin(), labels.end()).size();
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string batch_text(const SamplerParams& batch) {
  if (batch.name != kOfClasses) return counted(batch.batch, "image", "images");
  return counted(batch.batch / batch.per_class, "class", "classes") + " x " +
         counted(batch.per_class, "image", "images");
}

}  // namespace

SamplerParams fitted_batch(const SamplerParams& asked, std::span<const std::int64_t> labels) {
  const std::size_t shards = std::max<std::size_t>(1, asked.shards);
  const auto for_shards = [&](std::size_t count) { return count / shards * shards; };
  SamplerParams fitted = asked;
  if (asked.name != kOfClasses) {
    const std::size_t most = for_shards(labels.size());
    if (asked.batch > labels.size() && most >= kFewest) fitted.batch = most;
    return fitted;
  }
  if (asked.per_class == 0) return asked;
  const std::size_t classes = count_classes(labels);
  const std::size_t wanted = asked.batch / asked.per_class;
  if (wanted <= classes && asked.batch <= labels.size()) return asked;
  for (std::size_t of_class = asked.per_class; of_class > 0; --of_class) {
    if (of_class < std::min(kFewest, asked.per_class)) break;
    const std::size_t taken = for_shards(std::min({wanted, classes, labels.size() / of_class}));
    if (taken < kFewest) continue;
    fitted.per_class = of_class;
    fitted.batch = taken * of_class;
    return fitted;
  }
  return asked;
}

TrainPlan plan_of(const TrainConfig& config, const SamplerParams& asked, const TrainingData& data) {
  TrainPlan plan;
  plan.classes = static_cast<std::size_t>(data.train.classes);
  plan.images = data.train.paths.size();
  plan.held_out_classes = data.held_out_classes;
  plan.held_out_images = data.held_out_images;
  plan.among_training = data.among_training;
  plan.left_out = data.left_out;
  const bool validates = config.evaluate.select == "val";
  plan.split = validates ? "val" : "test";
  plan.best_by = "P@1 at K=" + std::to_string(config.evaluate.rerank.back()) + " on " +
                 counted(plan.held_out_classes, "held-out class", "held-out classes") + " (" +
                 plan.split + " split)";
  if (config.evaluate.select == "last") plan.best_by = "being the last one, without selection";
  const SamplerParams& fitted = config.sampler;
  if (fitted.batch == asked.batch && fitted.per_class == asked.per_class) return plan;
  plan.chosen.emplace_back("sampler.batch", std::to_string(fitted.batch));
  if (fitted.per_class != asked.per_class) {
    plan.chosen.emplace_back("sampler.per_class", std::to_string(fitted.per_class));
  }
  plan.why_chosen = "a batch of " + batch_text(asked) + " does not fit " +
                    counted(plan.classes, "training class", "training classes") + " with " +
                    counted(plan.images, "image", "images") + ": it has " + batch_text(fitted) +
                    " instead";
  return plan;
}

std::string chosen_settings(const TrainPlan& plan) {
  std::string text;
  for (const auto& [name, value] : plan.chosen) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

}  // namespace diml::training
