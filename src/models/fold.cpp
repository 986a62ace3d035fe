#include "fold.h"

#include <cmath>

#include "base/npy.h"
#include "diml/error.h"

namespace diml {

std::vector<ConvolutionLayer> layers_of(const Architecture& architecture) {
  std::vector<ConvolutionLayer> layers = {architecture.stem};
  for (const ResidualBlock& block : architecture.blocks) {
    layers.insert(layers.end(), block.layers.begin(), block.layers.end());
    if (block.shortcut) layers.push_back(*block.shortcut);
  }
  return layers;
}

const Tensor& tensor_of(const Model& model, const std::string& name,
                        const std::vector<std::size_t>& shape) {
  const auto found = model.tensors.find(name);
  if (found == model.tensors.end()) {
    throw Error("the weights have no '" + name + "', which " + model.architecture +
                " needs: they are of another architecture or not complete");
  }
  if (found->second.shape != shape) {
    throw Error("'" + name + "' is " + shape_text(found->second.shape) + " where " +
                model.architecture + " needs " + shape_text(shape) +
                ": the weights are of another architecture");
  }
  return found->second;
}

FoldedConvolution fold(const Model& model, const ConvolutionLayer& layer) {
  FoldedConvolution folded;
  folded.kernel = tensor_of(model, layer.name + ".weight",
                            {layer.outputs, layer.inputs, layer.kernel, layer.kernel})
                      .floats();
  const auto of_norm = [&](const char* what) {
    return tensor_of(model, layer.norm + what, {layer.outputs}).floats();
  };
  const std::vector<float> gamma = of_norm(".weight");
  const std::vector<float> mean = of_norm(".running_mean");
  const std::vector<float> variance = of_norm(".running_var");
  folded.bias = of_norm(".bias");
  const std::size_t length = layer.inputs * layer.kernel * layer.kernel;
  for (std::size_t o = 0; o < layer.outputs; ++o) {
    const double scale = gamma[o] / std::sqrt(variance[o] + model.epsilon);
    folded.bias[o] = static_cast<float>(folded.bias[o] - mean[o] * scale);
    for (std::size_t k = o * length; k < (o + 1) * length; ++k) {
      folded.kernel[k] = static_cast<float>(folded.kernel[k] * scale);
    }
  }
  return folded;
}

ConvolutionLayer projection_layer(const Model& model) {
  const std::size_t channels = make_architecture(model.architecture, model.stride).channels();
  return {"projection", "", channels, model.output_channels(), 1, 1};
}

FoldedConvolution projection_of(const Model& model) {
  const ConvolutionLayer layer = projection_layer(model);
  return {tensor_of(model, "projection.weight", {layer.outputs, layer.inputs}).floats(),
          tensor_of(model, "projection.bias", {layer.outputs}).floats()};
}

}  // namespace diml
