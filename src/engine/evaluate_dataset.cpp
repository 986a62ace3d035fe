#include "diml/evaluate_dataset.h"
#include "engine/process_group.h"

#include <algorithm>

#include "base/label_words.h"
#include "base/stopwatch.h"
#include "diml/error.h"
#include "engine/embed_together.h"

namespace diml {
namespace {

struct Cancelled {};  // thrown from a report: an interrupted evaluation leaves nothing behind

const std::string kCancelled = "cancelled";

// The values of the images that could be read.
template <class T>
std::vector<T> of_kept(const std::vector<T>& all, const std::vector<std::size_t>& kept) {
  std::vector<T> some;
  if (all.empty()) return some;
  for (const std::size_t index : kept) some.push_back(all[index]);
  return some;
}

// Whether it came to the end.
bool evaluate_all(const EmbeddedFiles& files, const LabelledImages& images,
                  const EvaluateDatasetParams& params, const EvaluateDatasetHooks& hooks,
                  std::vector<Evaluation>& evaluations) {
  const std::vector<std::int64_t> labels = of_kept(images.labels, files.kept);
  const Progress progress = [&](std::size_t done, std::size_t total) {
    hooks.on_evaluate(done, total);
    if (hooks.on_evaluate.cancelled()) throw Cancelled{};
  };
  for (EvaluateParams way : params.ways) {
    if (!evaluations.empty() && hooks.on_evaluate.cancelled()) return false;
    way.roles = of_kept(images.roles, files.kept);
    std::replace(way.rerank.begin(), way.rerank.end(), kRerankAll, labels.size());
    try {
      evaluations.push_back(evaluate(files.view(), labels, way, progress));
    } catch (const Cancelled&) {
      return false;
    }
    if (hooks.on_result) hooks.on_result(evaluations.size() - 1, evaluations.back());
    if (hooks.on_grids) hooks.on_grids(evaluations.back(), files.view(), files.kept);
  }
  return true;
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

std::optional<DatasetEvaluation> evaluate_dataset(ProcessGroup& processes, Embedder& embedder,
                                                  const LabelledImages& images,
                                                  const EvaluateDatasetParams& params,
                                                  const EvaluateDatasetHooks& hooks) {
  if (images.paths.empty()) {
    throw Error("no image of the data set is a query or in the gallery: give some of them a role");
  }
  const Stopwatch watch;
  const EmbedFilesParams how{images.orientation, params.bad};
  std::optional<EmbeddedFiles> files =
      embed_to_memory(processes, embedder, images.paths, how, params.storage, hooks.on_embed);
  if (!files) return {};
  DatasetEvaluation made;
  made.embed_seconds = watch.seconds();
  // The root evaluates: embedding is most of the work, and sending grids to all would cost more.
  const bool ended =
      !processes.is_root() || evaluate_all(*files, images, params, hooks, made.evaluations);
  processes.barrier();
  if (processes.all_gather(ended ? "" : kCancelled).front() == kCancelled) return {};
  made.images = files->kept.size();
  made.bad = std::move(files->bad);
  return made;
}

std::optional<DatasetEvaluation> evaluate_dataset(Embedder& embedder, const LabelledImages& images,
                                                  const EvaluateDatasetParams& params,
                                                  const EvaluateDatasetHooks& hooks) {
  ProcessGroup alone;
  return evaluate_dataset(alone, embedder, images, params, hooks);
}

}  // namespace diml
