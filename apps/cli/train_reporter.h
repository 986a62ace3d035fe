#pragma once

#include <chrono>
#include <string>

#include "diml/train.h"

namespace diml::cli {

// Shows the progress of training: a line that is overwritten on a terminal, one line for every
// evaluated epoch, and warnings on standard error.
class TrainReporter {
 public:
  // lines: whether epochs are printed on standard output.
  explicit TrainReporter(bool lines = true);
  ~TrainReporter() { erase(); }
  TrainReporter(const TrainReporter&) = delete;
  TrainReporter& operator=(const TrainReporter&) = delete;

  // Must outlive the training.
  void connect(TrainHooks& hooks);

 private:
  void plan(const TrainPlan& found);
  void step(const StepReport& report);
  void evaluating(std::size_t done, std::size_t total);
  void epoch(const EpochReport& report);
  void note(const std::string& text);
  void erase();
  // At the rate since the first step of this process, evaluations included.
  std::string left_after(const StepReport& report);

  bool terminal_;
  bool lines_;
  std::size_t steps_seen_ = 0;
  std::chrono::steady_clock::time_point first_step_{};
};

}  // namespace diml::cli
