#include "training_data.h"

#include <algorithm>
#include <map>
#include <set>

#include "diml/dataset.h"
#include "diml/error.h"

namespace diml::training {
namespace {

void add(LabelledFiles& files, std::map<std::int64_t, std::int64_t>& dense, const Sample& sample) {
  const auto label = dense.emplace(sample.label, static_cast<std::int64_t>(dense.size())).first;
  files.paths.push_back(sample.path);
  files.labels.push_back(label->second);
  files.classes = static_cast<std::int64_t>(dense.size());
}

// A single class would be found among its own images whatever the network does.
void hold_out(Dataset& judged, const Dataset& train, const std::set<std::int64_t>& held_out,
              TrainingData& data) {
  std::set<std::int64_t> classes;
  for (const Sample& sample : judged.samples) classes.insert(sample.label);
  classes.erase(-1);
  data.held_out_classes = classes.size();
  data.held_out_images = judged.samples.size();
  data.among_training = classes.size() == 1;
  if (data.among_training) {
    for (Sample sample : train.samples) {
      if (held_out.contains(sample.label)) continue;
      sample.is_query = false;
      sample.is_gallery = true;
      judged.samples.push_back(std::move(sample));
    }
  }
  data.judged = labelled_images(judged);
}

// Losses compare images of different classes.
void expect_classes(const TrainingData& data, const std::string& root) {
  if (data.train.classes > 1) return;
  throw Error(root + ": has " + std::to_string(data.train.classes) +
              (data.train.classes == 1 ? " class" : " classes") +
              " to train on, and a loss compares 2 or more: add classes, 3 or more in a folder "
              "(one of them is held out to evaluate)");
}

}  // namespace

TrainingData load_training_data(const TrainConfig& config) {
  TrainingData data;
  std::map<std::int64_t, std::int64_t> trained;
  const Dataset train = load_dataset(config.dataset.name, config.dataset.root, Split::train);
  if (train.own_photos) data.orientation = Orientation::exif;
  data.left_out = left_out_of(train, config.dataset.root);
  const auto unlabelled = std::count_if(train.samples.begin(), train.samples.end(),
                                        [](const Sample& sample) { return sample.label < 0; });
  if (unlabelled > 0) {
    throw Error(config.dataset.root + ": " + std::to_string(unlabelled) +
                " images of the train split have no label: label them, or leave them out");
  }
  const bool validates = config.evaluate.select == "val";
  std::set<std::int64_t> held_out;
  if (validates) {
    held_out = held_out_classes(train);
    if (held_out.empty()) {
      std::set<std::int64_t> classes;
      for (const Sample& sample : train.samples) classes.insert(sample.label);
      throw Error("evaluate.select val holds out a fifth of the training classes, but there are " +
                  std::to_string(classes.size()) + ": use evaluate.select test");
    }
  }
  Dataset judged = train;
  judged.samples.clear();
  for (const Sample& sample : train.samples) {
    if (held_out.contains(sample.label)) {
      judged.samples.push_back(sample);
    } else {
      add(data.train, trained, sample);
    }
  }
  expect_classes(data, config.dataset.root);
  if (!validates) {
    judged = load_dataset(config.dataset.name, config.dataset.root, Split::test);
  }
  hold_out(judged, train, held_out, data);
  if (data.judged.without_role > 0) {
    data.left_out.push_back(config.dataset.root + ": " + std::to_string(data.judged.without_role) +
                            " held-out images take no part in the evaluation: they are neither "
                            "queries nor in the gallery");
  }
  return data;
}

}  // namespace diml::training
