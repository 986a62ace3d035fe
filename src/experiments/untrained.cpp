#include "untrained.h"

#include <filesystem>

#include "base/output_file.h"
#include "base/setting_text.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "engine/open_network.h"
#include "engine/projection.h"
#include "network_results.h"

namespace diml::experiments {
namespace {

constexpr std::size_t kMapSize = 7;  // of a ResNet's feature map at 224 pixels

Model pca_projected(const Model& model, const std::string& weights, std::size_t dim,
                    const RunParams& params) {
  Embedder embedder = open_embedder(weights, false, {.grid = kMapSize}, params);
  // The projection is computed without the test classes.
  const Dataset data = load_dataset(params.dataset, params.root, Split::train);
  std::vector<std::string> paths;
  for (const Sample& sample : data.samples) paths.push_back(sample.path);
  PcaParams pca{.dim = dim, .threads = params.threads};
  if (data.own_photos) pca.orientation = Orientation::exif;
  return projected(model, pca_of_photos(embedder, paths, pca));
}

}  // namespace

std::string untrained_weights(const NetworkSpec& network, const std::string& folder,
                              const RunParams& params) {
  const std::string& weights = network.settings.at("model.weights");
  if (network.projection.empty()) return weights;
  const std::string path = folder + "/projected.safetensors";
  if (std::filesystem::exists(path)) return path;
  const std::size_t space = network.projection.find(' ');
  std::size_t dim = 0;
  if (!text::from_text(network.projection.substr(space + 1), dim)) {
    throw Error("model.dim of a projection is a number, not '" + network.projection + "'");
  }
  const Model model = load_model(weights);
  make_folder(folder);
  save_model(path, network.projection.starts_with("pca")
                       ? pca_projected(model, weights, dim, params)
                       : randomly_projected(model, dim, 0));
  return path;
}

}  // namespace diml::experiments
