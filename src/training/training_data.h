#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diml/labelled_images.h"
#include "diml/learn/train_config.h"

namespace diml::training {

struct LabelledFiles {
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;  // 0 to classes - 1
  std::int64_t classes = 0;
};

// What a run learns from and what it is judged by: no class is in both.
struct TrainingData {
  LabelledFiles train;
  LabelledImages judged;  // the test split, or the held-out classes of the training split
  Orientation orientation = Orientation::as_stored;  // of the photos that are learnt from
};

TrainingData load_training_data(const learn::TrainConfig& config);

}  // namespace diml::training
