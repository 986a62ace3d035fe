#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "diml/train.h"
#include "training/train_config.h"

namespace diml::training {

// A run on disk: config.yaml, metrics.jsonl, TensorBoard events, best.safetensors, last/, and
// bad.txt where photos could not be read.
class RunFolder {
 public:
  // Creates nothing yet. fresh: there must be no earlier run in it; else there must be one.
  RunFolder(std::string path, bool fresh);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.yaml"; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string bad() const { return path_ + "/bad.txt"; }
  std::string best() const { return path_ + "/best.safetensors"; }
  std::string checkpoint() const { return path_ + "/last/checkpoint.safetensors"; }

  // Creates the folder and writes the configuration of the run.
  void begin(const TrainConfig& config);

  // Keeps the lines of the epochs below `epochs` and returns their content: the other epochs are
  // repeated.
  std::vector<EpochReport> cut_metrics(std::size_t epochs);
  // One line. Nothing in it depends on the clock: a run that was interrupted writes the same ones.
  void add_metrics(const EpochReport& report, double learning_rate);
  // A photo that cannot be read, with the reason: one line of bad.txt, also for repeated calls.
  void add_bad(const std::string& why);
  const std::vector<std::string>& all_bad() const { return bad_lines_; }
  // Further values of the curves.
  void add_step(std::size_t step, double loss, double images_per_second);

 private:
  class Events;
  std::string path_;
  bool fresh_;
  std::vector<std::string> bad_lines_;
  std::unique_ptr<Events> events_;
  std::chrono::steady_clock::time_point flushed_{};
};

}  // namespace diml::training
