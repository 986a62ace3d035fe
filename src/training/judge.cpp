#include "judge.h"

#include "diml/open_network.h"

namespace diml::training {

std::optional<DatasetEvaluation> evaluate_model(const Model& model, const LabelledImages& images,
                                                const learn::TrainConfig& config, Ranks& ranks,
                                                const TrainHooks& hooks) {
  NetworkParams network;
  network.threads = config.threads;
  network.device = config.device;
  network.precision = precision_from(config.evaluate.precision);
  Embedder embedder(make_network(model, network), model.preprocessing,
                    {.grid = config.grid,
                     .pooling = pooling_rule_from(config.pooling),
                     .batch = default_batch(config.device),
                     .threads = config.threads});
  EvaluateParams way;
  way.rerank = config.evaluate.rerank;
  way.match = config.measure.match;
  way.matcher = config.measure.matcher;
  way.threads = config.threads;
  const BadImages bad = config.dataset.skip_bad ? BadImages::skip : BadImages::stop;
  return evaluate_dataset(ranks, embedder, images, {.ways = {way}, .bad = bad},
                          {.on_embed = hooks.on_evaluate, .stop = hooks.stop});
}

std::size_t loader_threads(const learn::TrainConfig& config) {
  // What keeps a GPU busy needs a core, and so does the thread that goes backwards.
  const int others = config.device == "cpu" ? 0 : 2;
  return static_cast<std::size_t>(std::max(1, thread_count(config.threads) - others));
}

}  // namespace diml::training
