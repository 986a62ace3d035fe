#include "judge.h"
#include "base/threads.h"

#include "engine/evaluate_together.h"
#include "engine/open_network.h"

namespace diml::training {

DatasetEvaluation evaluate_model(const Model& model, const LabelledImages& images,
                                 const TrainConfig& config, Ranks& ranks, const TrainHooks& hooks) {
  const EmbeddingParams embedding{.grid = config.grid,
                                  .pooling = config.pooling,
                                  .precision = config.evaluate.precision,
                                  .device = config.device,
                                  .threads = config.threads};
  Embedder embedder(make_network(model, embedding), model.preprocessing, embedding);
  EvaluateParams way;
  way.rerank = config.evaluate.rerank;
  way.match = config.measure.match;
  way.backend = config.measure.backend;
  way.threads = config.threads;
  const BadImages bad = config.dataset.skip_bad ? BadImages::skip : BadImages::stop;
  return evaluate_dataset_together(ranks, embedder, images, {.ways = {way}, .bad = bad},
                                   {.on_embed = hooks.on_evaluate.with(hooks.cancelled),
                                    .on_evaluate = Progress().with(hooks.cancelled)});
}

std::size_t loader_threads(const TrainConfig& config) {
  // The thread that launches the GPU's work needs a core, and so does that of the backward pass.
  const int others = config.device == "cpu" ? 0 : 2;
  return static_cast<std::size_t>(std::max(1, thread_count(config.threads) - others));
}

}  // namespace diml::training
