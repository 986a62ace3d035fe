#include "training_data.h"

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

}  // namespace

TrainingData load_training_data(const learn::TrainConfig& config) {
  TrainingData data;
  std::map<std::int64_t, std::int64_t> trained;
  const Dataset train = load_dataset(config.dataset.name, config.dataset.root, Split::train);
  if (train.own_photos) data.orientation = Orientation::exif;
  const bool validates = config.evaluate.select == "val";
  std::set<std::int64_t> held_out;
  if (validates) {
    held_out = held_out_classes(train);
    if (held_out.empty()) {
      std::set<std::int64_t> classes;
      for (const Sample& sample : train.samples) classes.insert(sample.label);
      throw Error("evaluate.select val holds out a fifth of the training classes, but there are " +
                  std::to_string(classes.size()) + ": take evaluate.select test");
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
  if (!validates) {
    judged = load_dataset(config.dataset.name, config.dataset.root, Split::test);
  }
  data.judged = labelled_images(judged);
  return data;
}

}  // namespace diml::training
