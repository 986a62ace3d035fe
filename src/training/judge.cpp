#include "judge.h"

#include "diml/embed_together.h"
#include "diml/error.h"
#include "diml/open_network.h"

namespace diml::training {

namespace {

struct Stopped {};  // thrown from a progress hook: what it interrupts leaves nothing behind

std::vector<RerankResult> numbers_of(GridSetView grids, std::span<const std::int64_t> labels,
                                     const learn::TrainConfig& config, const TrainHooks& hooks) {
  EvaluateParams params;
  params.rerank = config.evaluate.rerank;
  params.match = config.measure.match;
  params.matcher = config.measure.matcher;
  params.threads = config.threads;
  return evaluate(grids, labels, params,
                  [&](std::size_t, std::size_t) {
                    if (hooks.stop && hooks.stop()) throw Stopped{};
                  })
      .results;
}

}  // namespace

std::optional<Judgement> evaluate_model(const Model& model, const LabelledFiles& files,
                                        Orientation orientation, const learn::TrainConfig& config,
                                        Ranks& ranks, const TrainHooks& hooks) {
  NetworkParams network;
  network.threads = config.threads;
  network.device = config.device;
  network.precision = precision_from(config.evaluate.precision);
  Embedder embedder(make_network(model, network), model.preprocessing,
                    {.grid = config.grid,
                     .pooling = pooling_rule_from(config.pooling),
                     .batch = default_batch(config.device),
                     .threads = config.threads});
  const EmbedFilesParams how{.orientation = orientation,
                             .bad = config.dataset.skip_bad ? BadImages::skip : BadImages::stop};
  std::optional<EmbeddedFiles> embedded =
      embed_to_memory(ranks, embedder, files.paths, how, hooks.on_evaluate, hooks.stop);
  if (!embedded) return {};
  std::vector<std::int64_t> labels;
  for (const std::size_t index : embedded->kept) labels.push_back(files.labels[index]);

  Judgement judgement;
  bool stopped = false;
  if (ranks.writes()) {
    try {
      judgement.results = numbers_of(embedded->view(), labels, config, hooks);
    } catch (const Stopped&) {
      stopped = true;
    }
  }
  ranks.wait_for_writer();
  if (ranks.exchanged(stopped ? "stopped" : "").front() == "stopped") return {};
  judgement.judged = embedded->kept.size();
  judgement.bad = std::move(embedded->bad);
  return judgement;
}

std::size_t loader_threads(const learn::TrainConfig& config) {
  // What keeps a GPU busy needs a core, and so does the thread that goes backwards.
  const int others = config.device == "cpu" ? 0 : 2;
  return static_cast<std::size_t>(std::max(1, thread_count(config.threads) - others));
}

}  // namespace diml::training
