#pragma once

#include <set>
#include <string>
#include <vector>

#include "diml/train_call.h"
#include "loader.h"
#include "ranks.h"
#include "run_folder.h"

namespace diml::training {

// The photos that a run cannot read and goes on without. Each is named once: to the hook, and in
// the run's folder.
class BadPhotos {
 public:
  // folder: null on ranks that do not write.
  BadPhotos(Ranks& ranks, RunFolder* folder, const TrainHooks& hooks)
      : ranks_(ranks), folder_(folder), hooks_(hooks) {}

  // Of a batch that the ranks share, told by all of them. Returns how many of all its draws were
  // replaced.
  std::size_t hear(const TrainingBatch& own);
  // Of what the one that writes has seen; the others say nothing.
  void name(const std::vector<std::string>& reasons);

 private:
  Ranks& ranks_;
  RunFolder* folder_;
  const TrainHooks& hooks_;
  std::set<std::string> named_;  // by this rank, to the others
};

// Paths and reasons.
std::vector<std::string> reasons_of(const TrainingBatch& batch);

}  // namespace diml::training
