#include "fold.h"

#include <cmath>

#include "base/npy.h"
#include "diml/error.h"

namespace diml {

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

FoldedConvolution fold(const Model& model, const Convolution& layer) {
  FoldedConvolution folded;
  folded.kernel = tensor_of(model, layer.name + ".weight",
                            {layer.outputs, layer.inputs, layer.kernel, layer.kernel})
                      .floats();
  if (layer.norm.empty()) {
    folded.bias = layer.bias ? tensor_of(model, layer.name + ".bias", {layer.outputs}).floats()
                             : std::vector<float>(layer.outputs, 0.0F);
    return folded;
  }
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

FoldedLinear fold(const Model& model, const Linear& linear) {
  FoldedLinear folded;
  folded.matrix =
      tensor_of(model, linear.name + ".weight", {linear.outputs, linear.inputs}).floats();
  folded.bias = tensor_of(model, linear.name + ".bias", {linear.outputs}).floats();
  if (linear.scale.empty()) return folded;
  const std::vector<float> scale = tensor_of(model, linear.scale, {linear.outputs}).floats();
  for (std::size_t o = 0; o < linear.outputs; ++o) {
    folded.bias[o] *= scale[o];
    for (std::size_t i = 0; i < linear.inputs; ++i) {
      folded.matrix[o * linear.inputs + i] *= scale[o];
    }
  }
  return folded;
}

}  // namespace diml
