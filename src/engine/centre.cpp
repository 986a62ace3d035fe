#include "diml/centre.h"

#include <vector>

#include "diml/error.h"
#include "diml/open_network.h"

namespace diml {
namespace {

// Embedders give unit vectors. One more dimension that is 1 for every photo keeps the length.
Model with_length(Model model) {
  const std::size_t dim = model.output_channels();
  std::vector<float> weight = model.tensors.at("projection.weight").floats();
  std::vector<float> bias = model.tensors.at("projection.bias").floats();
  const std::size_t channels = weight.size() / dim;
  weight.resize(weight.size() + channels, 0.0F);
  bias.push_back(1.0F);
  model.tensors["projection.weight"] = make_tensor({dim + 1, channels}, weight);
  model.tensors["projection.bias"] = make_tensor({dim + 1}, bias);
  return model;
}

}  // namespace

std::optional<Centred> centred(const Model& model, std::span<const std::string> photos,
                               const CentreParams& params, const Progress& progress,
                               const std::function<bool()>& stop) {
  if (!model.has_projection()) {
    throw Error("a network without projection cannot be centred: train one");
  }
  if (photos.empty()) throw Error("there are no photos to centre by");
  const std::size_t dim = model.output_channels();
  Embedder embedder(make_network(with_length(model), params.network, params.backend),
                    model.preprocessing,
                    {.grid = 1,
                     .batch = default_batch(params.network.device),
                     .threads = params.network.threads});
  std::vector<double> sum(dim, 0.0);
  std::size_t done = 0;
  Centred result{model};
  embedder.embed_files(photos, params.orientation, params.bad, [&](const EmbeddedBatch& batch) {
    for (std::size_t k = 0; k < batch.indices.size(); ++k) {
      const float* global = batch.globals.data() + k * (dim + 1);
      for (std::size_t d = 0; d < dim; ++d) {
        sum[d] += static_cast<double>(global[d]) / static_cast<double>(global[dim]);
      }
    }
    for (const BadImage& bad : batch.bad) result.bad.push_back(bad.why);
    done += batch.count;
    if (progress) progress(done, photos.size());
    return !(stop && stop());
  });
  if (done < photos.size()) return {};
  const std::size_t seen = photos.size() - result.bad.size();
  if (seen == 0) throw Error("none of the photos to centre by could be read");
  std::vector<float> bias = model.tensors.at("projection.bias").floats();
  for (std::size_t d = 0; d < dim; ++d) {
    bias[d] = static_cast<float>(bias[d] - sum[d] / static_cast<double>(seen));
  }
  result.model.tensors["projection.bias"] = make_tensor({dim}, bias);
  result.model.provenance += "; centred by " + std::to_string(seen) + " photos";
  return result;
}

}  // namespace diml
