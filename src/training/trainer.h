#pragma once

#include <memory>

#include "bad_photos.h"
#include "checkpoint.h"
#include "diml/learn/loss.h"
#include "diml/train.h"
#include "late_numbers.h"
#include "learn/optimiser.h"
#include "learn/pixels.h"
#include "learn/trainable_network.h"
#include "loader.h"
#include "ranks.h"
#include "run_folder.h"
#include "training_data.h"

namespace diml::training {

// One run, from its first step to its last, in memory.
class Trainer {
 public:
  Trainer(TrainConfig config, Ranks& ranks, RunFolder* folder, const TrainHooks& hooks);

  // Continues from a checkpoint.
  void resume(const std::string& path);
  TrainSummary run();

  // As they were chosen for the training images.
  const learn::SamplerParams& sampler() const { return config_.sampler; }

 private:
  // A step that is queued on the device and may still be running.
  struct Step {
    TrainingBatch batch;
    std::size_t epoch = 0;
    std::size_t number = 0;  // of the epoch, from 0
    std::size_t steps = 0;   // that the epoch has
    LateNumbers numbers;     // the loss, the length of the gradient
  };

  void tell_plan() const;
  void make_loss_and_optimiser();
  // The checks on a batch before the run begins.
  void look_at_a_batch();
  // The steps of an epoch that are still to do. Returns whether it was stopped.
  bool run_epoch(std::size_t epoch, EpochReport& report);
  LateNumbers run_step(const TrainingBatch& batch, std::size_t epoch, std::size_t step,
                       std::size_t steps);
  torch::Tensor labels_of(const TrainingBatch& batch) const;  // on the device
  // The results of a step: counted and reported; throws where one is not a number.
  void settle(const Step& step, double images_per_second);
  std::size_t first_place() const;  // of this process's photos in the whole batch
  LoaderParams loader_params(std::size_t epoch) const;
  // Returns whether it was stopped.
  bool judge(EpochReport& report);
  void count(const EpochReport& report);  // in the summary
  Model current_model() const;            // averaged where averages are kept
  void save_best(std::size_t epoch) const;
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
  // Whether there was no better epoch for `patience` epochs.
  bool gave_up();
  // A cancelled rank stops all ranks: they end after the same step.
  bool is_cancelled();
  double rate_at(std::size_t epoch, std::size_t step, std::size_t steps) const;

  TrainConfig config_;
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
  TrainingBatch calibrated_;  // the batch of BatchNorm's statistics, without pixels
  TrainSummary summary_;
};

}  // namespace diml::training
