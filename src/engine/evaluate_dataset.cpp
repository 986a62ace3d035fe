#include "diml/evaluate_dataset.h"

#include <algorithm>

#include "base/label_words.h"
#include "base/stopwatch.h"
#include "diml/error.h"
#include "engine/evaluate_together.h"
#include "engine/labelled_grids.h"

namespace diml {
namespace {

const std::string kCancelled = "cancelled";

void evaluate_all(const LabelledGrids& made, const EvaluateDatasetParams& params,
                  const EvaluateDatasetHooks& hooks, std::vector<Evaluation>& evaluations) {
  for (EvaluateParams way : params.ways) {
    hooks.on_evaluate.stop_if_cancelled();
    way.roles = made.roles;
    std::replace(way.rerank.begin(), way.rerank.end(), kRerankAll, made.labels.size());
    evaluations.push_back(evaluate(made.files.view(), made.labels, way, hooks.on_evaluate));
    if (hooks.on_result) hooks.on_result(evaluations.size() - 1, evaluations.back());
    if (hooks.on_grids) hooks.on_grids(evaluations.back(), made.files.view(), made.files.kept);
  }
}

}  // namespace

void LabelledImages::cut_to(std::size_t count) {
  if (paths.size() <= count) return;
  paths.resize(count);
  labels.resize(count);
  if (!roles.empty()) roles.resize(count);
}

std::string LabelledImages::label_of(std::size_t image) const {
  const std::int64_t label = labels[image];
  if (!labels_are_names || label < 0) return label_word(label);
  return class_names.at(static_cast<std::size_t>(label));
}

LabelledImages labelled_images(const Dataset& data) {
  LabelledImages images;
  images.class_names = data.class_names;
  // Some benchmarks have no names for their classes, only numbers.
  images.labels_are_names =
      data.own_photos || std::any_of(data.class_names.begin(), data.class_names.end(),
                                     [](const std::string& name) { return !label_number(name); });
  images.numbered = !data.own_photos;
  if (data.own_photos) images.orientation = Orientation::exif;
  for (const Sample& sample : data.samples) {
    if (!sample.is_query && !sample.is_gallery) {
      ++images.without_role;
      continue;
    }
    images.paths.push_back(sample.path);
    images.labels.push_back(sample.label);
    images.roles.push_back(!sample.is_gallery ? Role::query
                           : sample.is_query  ? Role::both
                                              : Role::gallery);
  }
  const bool told_apart = std::any_of(images.roles.begin(), images.roles.end(),
                                      [](Role role) { return role != Role::both; });
  if (!told_apart) images.roles.clear();
  return images;
}

DatasetEvaluation evaluate_dataset_together(ProcessGroup& processes, Embedder& embedder,
                                            const LabelledImages& images,
                                            const EvaluateDatasetParams& params,
                                            const EvaluateDatasetHooks& hooks) {
  const Stopwatch watch;
  LabelledGrids grids =
      embed_labelled(processes, embedder, images, params.bad, params.storage, hooks.on_embed);
  DatasetEvaluation made;
  made.embed_seconds = watch.seconds();
  // The root evaluates: embedding is most of the work, and sending grids to all would cost more.
  bool ended = true;
  try {
    if (processes.is_root()) evaluate_all(grids, params, hooks, made.evaluations);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled) throw;
    ended = false;
  }
  processes.barrier();
  if (processes.all_gather(ended ? "" : kCancelled).front() == kCancelled) {
    throw Error(ErrorKind::cancelled, "the evaluation was cancelled");
  }
  made.images = grids.files.kept.size();
  made.bad = std::move(grids.files.bad);
  return made;
}

DatasetEvaluation evaluate_dataset(Embedder& embedder, const LabelledImages& images,
                                   const EvaluateDatasetParams& params,
                                   const EvaluateDatasetHooks& hooks) {
  ProcessGroup alone;
  return evaluate_dataset_together(alone, embedder, images, params, hooks);
}

}  // namespace diml
