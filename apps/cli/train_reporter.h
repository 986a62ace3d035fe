#pragma once

#include "diml/train.h"

namespace diml::cli {

// Tells a person how training goes: a line that is written over on a terminal, and one line for
// every evaluated epoch.
class TrainReporter {
 public:
  TrainReporter();

  // Must outlive the training.
  void connect(TrainHooks& hooks);

 private:
  void step(const StepReport& report);
  void evaluating(std::size_t done, std::size_t total);
  void epoch(const EpochReport& report);
  void erase();

  bool terminal_;
};

}  // namespace diml::cli
