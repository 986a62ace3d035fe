#include "judge.h"

#include <thread>

#include "diml/embedder.h"
#include "diml/error.h"
#include "diml/open_network.h"

namespace diml::training {

std::vector<RerankResult> evaluate_model(const Model& model, const LabelledFiles& files,
                                         Orientation orientation, const learn::TrainConfig& config,
                                         const Progress& progress) {
  NetworkParams network;
  network.threads = config.threads;
  Embedder embedder(make_network(model, network), model.preprocessing,
                    {.grid = config.grid,
                     .pooling = pooling_rule_from(config.pooling),
                     .threads = config.threads});
  GridSet grids(files.paths.size(), embedder.cells_per_grid(), embedder.dim());
  const std::size_t of_grid = embedder.cells_per_grid() * embedder.dim();
  std::vector<std::int64_t> labels;
  embedder.embed_files(
      files.paths, orientation, config.dataset.skip_bad ? BadImages::skip : BadImages::stop,
      [&](const EmbeddedBatch& batch) {
        for (std::size_t k = 0; k < batch.indices.size(); ++k) {
          grids.set(labels.size(), std::span(batch.cells).subspan(k * of_grid, of_grid),
                    std::span(batch.globals).subspan(k * embedder.dim(), embedder.dim()));
          labels.push_back(files.labels[batch.indices[k]]);
        }
        if (progress) progress(batch.first + batch.count, files.paths.size());
        return true;
      });
  GridSetView view = grids.view();
  view.size = labels.size();
  EvaluateParams params;
  params.rerank = config.evaluate.rerank;
  params.match = config.measure.match;
  params.matcher = config.measure.matcher;
  params.threads = config.threads;
  return evaluate(view, labels, params).results;
}

Model model_to_train(const std::string& weights, std::size_t dim, std::uint64_t seed) {
  Model model = load_model(located_model(weights));
  if (!model.has_projection() || model.output_channels() != dim) add_projection(model, dim, seed);
  return model;
}

torch::Tensor to_pixels(const torch::Tensor& planes, const Preprocessing& preprocessing,
                        torch::Device device) {
  const auto of_channels = [&](const std::array<float, 3>& values) {
    return torch::tensor({values[0], values[1], values[2]}).view({1, 3, 1, 1}).to(device);
  };
  return (planes.to(device).to(torch::kFloat32) - of_channels(preprocessing.mean)) /
         of_channels(preprocessing.deviation);
}

std::size_t loader_threads(const learn::TrainConfig& config) {
  return static_cast<std::size_t>(std::max(1, thread_count(config.threads)));
}

}  // namespace diml::training
