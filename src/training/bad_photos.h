#pragma once

#include <set>
#include <string>
#include <vector>

#include "diml/train.h"
#include "loader.h"
#include "ranks.h"
#include "run_folder.h"

namespace diml::training {

// The photos that a run cannot read and skips. Each is reported once: to the hook, and in the
// run's folder.
class BadPhotos {
 public:
  // folder: null on ranks that do not write.
  BadPhotos(Ranks& ranks, RunFolder* folder, const TrainHooks& hooks)
      : ranks_(ranks), folder_(folder), hooks_(hooks) {}

  // The bad photos of a batch that the ranks share; all ranks call it. Returns how many draws of
  // the whole batch were replaced.
  std::size_t hear(const TrainingBatch& own);
  // The bad photos that the writing rank has found; the other ranks pass none.
  void name(const std::vector<std::string>& reasons);

 private:
  Ranks& ranks_;
  RunFolder* folder_;
  const TrainHooks& hooks_;
  std::set<std::string> named_;  // by this rank to the others
};

// Paths and reasons.
std::vector<std::string> reasons_of(const TrainingBatch& batch);

}  // namespace diml::training
