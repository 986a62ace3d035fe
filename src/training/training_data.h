#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diml/evaluate_dataset.h"
#include "training/train_config.h"

namespace diml::training {

struct LabelledFiles {
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;  // 0 to classes - 1
  std::int64_t classes = 0;
};

// The training images and the evaluated images of a run: no class is in both.
struct TrainingData {
  LabelledFiles train;
  LabelledImages judged;  // the test split, or the held-out classes of the training split
  std::size_t held_out_classes = 0;  // of those that are judged
  std::size_t held_out_images = 0;
  bool among_training = false;  // a single held-out class is searched among training images too
  Orientation orientation = Orientation::as_stored;  // of the training photos
  std::vector<std::string> left_out{};               // a line for each reason
};

TrainingData load_training_data(const TrainConfig& config);

}  // namespace diml::training
