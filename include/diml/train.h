#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diml/evaluate.h"

namespace diml {

// A training run. Settings have names with dots (docs/training.md lists them); later ones win.
struct TrainParams {
  std::vector<std::string> recipes{};                           // YAML files
  std::vector<std::pair<std::string, std::string>> settings{};  // name, value
  std::string out;      // the run's folder: config.yaml, metrics.jsonl, best.safetensors, last/
  bool resume = false;  // continue from the last checkpoint of `out`, with its configuration
};

struct StepReport {
  std::size_t epoch = 0;  // from 1
  std::size_t epochs = 0;
  std::size_t step = 0;  // of the epoch, from 1
  std::size_t steps = 0;
  double loss = 0.0;
  double images_per_second = 0.0;
};

// What a run trains on and what chooses its best epoch, known before the first step.
struct TrainPlan {
  std::size_t classes = 0;           // to train on
  std::size_t images = 0;            // of these classes
  std::size_t held_out_classes = 0;  // evaluated and never trained on
  std::size_t held_out_images = 0;   // of these classes
  std::string split{};  // of the held-out classes: test, or val for a part of the training split
  // Whether the training images are searched too: a single held-out class would always be found
  // among its own images.
  bool among_training = false;
  std::string best_by{};  // "P@1 at K=100 on 4 held-out classes (test split)"
  // Settings in place of others that do not fit so few images: name, value. They are those of
  // config.yaml.
  std::vector<std::pair<std::string, std::string>> chosen{};
  std::string why_chosen{};             // one line; "" where nothing was replaced
  std::vector<std::string> left_out{};  // of the data set: a line with a count for each reason
};

// How a run that skips bad photos replaced or left them out.
struct SkippedPhotos {
  std::size_t replaced_draws = 0;  // in training, by another photo of the class
  std::size_t judged = 0;          // photos that were evaluated
  std::size_t not_judged = 0;      // photos that could not be evaluated
};

struct EpochReport {
  std::size_t epoch = 0;  // 0: before training
  std::size_t epochs = 0;
  double loss = 0.0;                    // mean over the steps
  double seconds = 0.0;                 // of the steps
  double plan_seconds = 0.0;            // of those, spent on transport plans
  std::vector<RerankResult> results{};  // empty where this epoch was not evaluated
  bool is_best = false;
  std::optional<SkippedPhotos> skipped{};  // where bad photos are skipped
};

// Called from the training thread.
struct TrainHooks {
  std::function<void(const TrainPlan&)> on_plan{};
  std::function<void(const StepReport&)> on_step{};
  std::function<void(const EpochReport&)> on_epoch{};
  Progress on_evaluate{};  // images embedded
  // A line for the user: a photo that cannot be read, each once; the memory that unrolled plans
  // need; without on_plan also why settings were replaced.
  std::function<void(const std::string&)> on_note{};
  // Called after every step and during evaluation; a checkpoint is written before the run ends.
  Progress::Cancelled cancelled{};
};

struct TrainSummary {
  TrainPlan plan{};
  EpochReport untrained{};
  EpochReport best{};
  EpochReport last{};
  bool cancelled = false;  // by the hook; TrainParams::resume continues the run
  // Where bad photos are skipped: replaced draws of all epochs, counts of the last evaluation.
  std::optional<SkippedPhotos> skipped{};
  std::vector<std::string> bad{};  // photos that could not be read, with the reason
};

// Both need the TORCH feature. check_training throws the errors of train() about settings that are
// unknown or do not fit, and does nothing else.
void check_training(const TrainParams& params);
TrainSummary train(const TrainParams& params, const TrainHooks& hooks = {});

}  // namespace diml
