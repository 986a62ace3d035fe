#include "diml/evaluate_dataset.h"

#include <algorithm>
#include <chrono>

#include "diml/embed_together.h"
#include "diml/error.h"

namespace diml {
namespace {

struct Stopped {};  // thrown from a progress hook: what it interrupts leaves nothing behind

const std::string kStopped = "stopped";

bool is_stopped(const EvaluateDatasetHooks& hooks) { return hooks.stop && hooks.stop(); }

// What is known of the images whose grids are there.
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
    if (hooks.on_evaluate) hooks.on_evaluate(done, total);
    if (is_stopped(hooks)) throw Stopped{};
  };
  for (EvaluateParams way : params.ways) {
    if (!evaluations.empty() && is_stopped(hooks)) return false;
    way.roles = of_kept(images.roles, files.kept);
    std::replace(way.rerank.begin(), way.rerank.end(), kRerankAll, labels.size());
    try {
      evaluations.push_back(evaluate(files.view(), labels, way, progress));
    } catch (const Stopped&) {
      return false;
    }
    if (hooks.on_result) hooks.on_result(evaluations.size() - 1, evaluations.back());
  }
  return true;
}

}  // namespace

std::optional<DatasetEvaluation> evaluate_dataset(ProcessGroup& processes, Embedder& embedder,
                                                  const LabelledImages& images,
                                                  const EvaluateDatasetParams& params,
                                                  const EvaluateDatasetHooks& hooks) {
  using Clock = std::chrono::steady_clock;
  if (images.paths.empty()) {
    throw Error("no image of the data set is a query or in the gallery: give some of them a role");
  }
  const Clock::time_point start = Clock::now();
  const EmbedFilesParams how{images.orientation, params.bad, params.storage};
  std::optional<EmbeddedFiles> files =
      embed_to_memory(processes, embedder, images.paths, how, hooks.on_embed, hooks.stop);
  if (!files) return {};
  DatasetEvaluation made;
  made.embed_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  // Embedding was the work: grids do not travel to be evaluated by all.
  const bool ended =
      !processes.writes() || evaluate_all(*files, images, params, hooks, made.evaluations);
  processes.wait_for_writer();
  if (processes.exchanged(ended ? "" : kStopped).front() == kStopped) return {};
  made.images = files->kept.size();
  made.bad = std::move(files->bad);
  return made;
}

}  // namespace diml
