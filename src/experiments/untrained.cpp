#include "untrained.h"

#include <filesystem>

#include "base/setting_text.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "diml/open_network.h"
#include "diml/output_file.h"
#include "diml/projection.h"

namespace diml::experiments {
namespace {

constexpr std::size_t kOwnMap = 7;  // places a side, of a ResNet's map at 224 pixels

Model by_pca(const Model& model, const std::string& weights, std::size_t dim,
             const RunParams& params) {
  OpenNetworkParams how;
  how.network.device = params.device;
  how.network.threads = params.threads;
  how.network.projection = false;
  OpenedNetwork opened = open_network(weights, how);
  Embedder embedder(
      std::move(opened.network), opened.preprocessing,
      {.grid = kOwnMap, .batch = default_batch(params.device), .threads = params.threads});
  // Training photos: the test classes are looked at by no projection.
  const Dataset data = load_dataset(params.dataset, params.root, Split::train);
  std::vector<std::string> paths;
  for (const Sample& sample : data.samples) paths.push_back(sample.path);
  PcaParams pca{.dim = dim, .threads = params.threads};
  if (data.own_photos) pca.orientation = Orientation::exif;
  return projected(model, pca_of_photos(embedder, paths, pca));
}

}  // namespace

std::string untrained_weights(const PlannedRun& run, const std::string& folder,
                              const RunParams& params) {
  const std::string& weights = run.settings.at("model.weights");
  if (run.projection.empty()) return weights;
  const std::string path = folder + "/projected.safetensors";
  if (std::filesystem::exists(path)) return path;
  const std::size_t space = run.projection.find(' ');
  std::size_t dim = 0;
  if (!text::from_text(run.projection.substr(space + 1), dim)) {
    throw Error("model.dim of a projection is a number, not '" + run.projection + "'");
  }
  const Model model = load_model(weights);
  make_folder(folder);
  save_model(path, run.projection.starts_with("pca") ? by_pca(model, weights, dim, params)
                                                     : randomly_projected(model, dim, 0));
  return path;
}

}  // namespace diml::experiments
