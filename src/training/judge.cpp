#include "judge.h"

#include <thread>

#include "diml/embedder.h"
#include "diml/error.h"
#include "diml/open_network.h"

namespace diml::training {

namespace {

constexpr std::int64_t kNobody = -1;  // the label of a place without an image

}  // namespace

std::vector<RerankResult> evaluate_model(const Model& model, const LabelledFiles& files,
                                         Orientation orientation, const learn::TrainConfig& config,
                                         Ranks& ranks, const Progress& progress) {
  NetworkParams network;
  network.threads = config.threads;
  network.device = config.device;
  Embedder embedder(make_network(model, network), model.preprocessing,
                    {.grid = config.grid,
                     .pooling = pooling_rule_from(config.pooling),
                     .batch = default_batch(config.device),
                     .threads = config.threads});
  const std::size_t total = files.paths.size();
  const std::size_t share = (total + ranks.size() - 1) / ranks.size();
  const std::size_t first = std::min(total, ranks.rank() * share);
  const std::size_t count = std::min(share, total - first);
  const auto dim = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  const std::size_t of_grid = embedder.cells_per_grid() * embedder.dim();
  torch::Tensor cells = torch::zeros({dim(share), dim(of_grid)});
  torch::Tensor globals = torch::zeros({dim(share), dim(embedder.dim())});
  torch::Tensor labels = torch::full({dim(share)}, kNobody, torch::kInt64);
  embedder.embed_files(std::span(files.paths).subspan(first, count), orientation,
                       config.dataset.skip_bad ? BadImages::skip : BadImages::stop,
                       [&](const EmbeddedBatch& batch) {
                         for (std::size_t k = 0; k < batch.indices.size(); ++k) {
                           const std::size_t place = batch.indices[k];
                           std::copy_n(&batch.cells[k * of_grid], of_grid,
                                       cells.data_ptr<float>() + place * of_grid);
                           std::copy_n(&batch.globals[k * embedder.dim()], embedder.dim(),
                                       globals.data_ptr<float>() + place * embedder.dim());
                           labels.data_ptr<std::int64_t>()[place] = files.labels[first + place];
                         }
                         if (progress) progress(batch.first + batch.count, count);
                         return true;
                       });
  cells = ranks.gathered(cells);
  globals = ranks.gathered(globals);
  labels = ranks.gathered(labels);
  if (!ranks.writes()) return {};

  GridSet grids(total, embedder.cells_per_grid(), embedder.dim());
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    const std::int64_t label = labels.data_ptr<std::int64_t>()[i];
    if (label == kNobody) continue;
    grids.set(kept.size(), {cells.data_ptr<float>() + i * dim(of_grid), of_grid},
              {globals.data_ptr<float>() + i * dim(embedder.dim()), embedder.dim()});
    kept.push_back(label);
  }
  GridSetView view = grids.view();
  view.size = kept.size();
  EvaluateParams params;
  params.rerank = config.evaluate.rerank;
  params.match = config.measure.match;
  params.matcher = config.measure.matcher;
  params.threads = config.threads;
  return evaluate(view, kept, params).results;
}

Model model_to_train(const std::string& weights, std::size_t dim, std::uint64_t seed) {
  Model model = load_model(located_model(weights));
  if (!model.has_projection() || model.output_channels() != dim) add_projection(model, dim, seed);
  return model;
}

std::size_t loader_threads(const learn::TrainConfig& config) {
  // What keeps a GPU busy needs a core, and so does the thread that goes backwards.
  const int others = config.device == "cpu" ? 0 : 2;
  return static_cast<std::size_t>(std::max(1, thread_count(config.threads) - others));
}

}  // namespace diml::training
