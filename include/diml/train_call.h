#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diml/evaluate.h"

namespace diml {

// A training run, as it is asked for. Settings have names with dots, as in
// include/diml/learn/train_config.h; later ones win.
struct TrainCall {
  std::vector<std::string> recipes{};                           // YAML files
  std::vector<std::pair<std::string, std::string>> settings{};  // name, value
  std::string out;      // the run's folder: config.yaml, metrics.jsonl, best.safetensors, last/
  bool resume = false;  // go on from the last checkpoint of `out`, with the configuration there
};

struct StepReport {
  std::size_t epoch = 0;  // from 1
  std::size_t epochs = 0;
  std::size_t step = 0;  // of the epoch, from 1
  std::size_t steps = 0;
  double loss = 0.0;
  double images_per_second = 0.0;
};

// What a run that skips bad photos did without them.
struct SkippedPhotos {
  std::size_t replaced_draws = 0;  // in the steps: another photo of the class stood in
  std::size_t judged = 0;          // photos that the results are of
  std::size_t not_judged = 0;      // photos that they should be of, too
};

struct EpochReport {
  std::size_t epoch = 0;  // 0: before training
  std::size_t epochs = 0;
  double loss = 0.0;                    // mean over the steps
  double seconds = 0.0;                 // of the steps
  double plan_seconds = 0.0;            // of those, spent in finding transport plans
  std::vector<RerankResult> results{};  // empty where this epoch was not evaluated
  bool is_best = false;
  std::optional<SkippedPhotos> skipped{};  // where bad photos are skipped
};

// Called from the training thread.
struct TrainHooks {
  std::function<void(const StepReport&)> on_step{};
  std::function<void(const EpochReport&)> on_epoch{};
  Progress on_evaluate{};  // images embedded
  // A line that a person should read: a photo that cannot be read, each once; the memory that
  // unrolled plans take.
  std::function<void(const std::string&)> on_note{};
  std::function<bool()> stop{};  // asked after every step; a checkpoint is written first
};

struct TrainSummary {
  EpochReport untrained{};
  EpochReport best{};
  EpochReport last{};
  bool stopped = false;  // by the hook; TrainCall::resume goes on
  // Where bad photos are skipped: the draws of all epochs, the judged set of the last.
  std::optional<SkippedPhotos> skipped{};
  std::vector<std::string> bad{};  // those that could not be read, with the reason
};

}  // namespace diml
