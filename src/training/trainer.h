#pragma once

#include <chrono>
#include <memory>

#include "bad_photos.h"
#include "checkpoint.h"
#include "diml/learn/loss.h"
#include "diml/learn/optimiser.h"
#include "diml/learn/trainable_network.h"
#include "diml/train_call.h"
#include "late_numbers.h"
#include "learn/pixels.h"
#include "loader.h"
#include "ranks.h"
#include "run_folder.h"
#include "training_data.h"

namespace diml::training {

// One run, from its first step to its last, in memory.
class Trainer {
 public:
  Trainer(learn::TrainConfig config, Ranks& ranks, RunFolder* folder, const TrainHooks& hooks);

  // Goes on from a checkpoint.
  void resume(const std::string& path);
  TrainSummary run();

 private:
  using Clock = std::chrono::steady_clock;

  // A step that the device was told to do, and may still be doing.
  struct Step {
    TrainingBatch batch;
    std::size_t epoch = 0;
    std::size_t number = 0;  // of the epoch, from 0
    std::size_t steps = 0;   // that the epoch has
    LateNumbers numbers;     // the loss, the length of the gradient
  };

  void make_loss_and_optimiser();
  // What has to be seen of a batch before the run begins.
  void look_at_a_batch();
  // The steps of an epoch that are still to do. Returns whether it was stopped.
  bool run_epoch(std::size_t epoch, EpochReport& report);
  LateNumbers run_step(const TrainingBatch& batch, std::size_t epoch, std::size_t step,
                       std::size_t steps);
  torch::Tensor labels_of(const TrainingBatch& batch) const;  // on the device
  // What came of a step: counted, reported, and the end of the run where it is not a number.
  void settle(const Step& step, double images_per_second);
  LoaderParams loader_params(std::size_t epoch) const;
  // Returns whether it was stopped.
  bool judge(EpochReport& report);
  void count(const EpochReport& report);  // in the summary
  Model current_model() const;            // averaged where averages are kept
  void save(std::size_t epochs_done, std::size_t steps_done);
  // Labels, where bad images are skipped.
  std::span<const std::int64_t> stand_ins() const {
    return config_.dataset.skip_bad ? std::span<const std::int64_t>(data_.train.labels)
                                    : std::span<const std::int64_t>();
  }
  // The weights after a step, before they are written anywhere.
  void expect_numbers(const TrainingBatch& batch, std::size_t epoch, std::size_t step);
  [[noreturn]] void fail_on_nan(const std::string& what, const TrainingBatch& batch,
                                std::size_t epoch, std::size_t step);
  // Whether there was nothing better for as long as the patience lasts.
  bool gave_up();
  // One that is asked stops all: they end after the same step.
  bool asked_to_stop();
  double rate_at(std::size_t epoch, std::size_t step, std::size_t steps) const;

  learn::TrainConfig config_;
  Ranks& ranks_;
  RunFolder* folder_;  // null on ranks that do not write
  const TrainHooks& hooks_;
  torch::Device device_;
  TrainingData data_;
  Model start_;
  learn::Pixels pixels_;
  std::unique_ptr<learn::TrainableNetwork> network_;
  learn::PairMeasure measure_;
  std::unique_ptr<learn::Loss> loss_;
  std::unique_ptr<learn::Optimiser> optimiser_;
  std::unique_ptr<learn::Sampler> sampler_;
  std::unique_ptr<ImageCache> cache_;
  std::map<std::string, torch::Tensor> averages_;
  bool resumed_ = false;
  Checkpoint progress_;  // its counters; arrays are filled in when it is written
  BadPhotos bad_;
  TrainingBatch calibrated_;  // what BatchNorm's statistics were made of: no pixels
  TrainSummary summary_;
};

}  // namespace diml::training
