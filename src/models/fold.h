#pragma once

#include <vector>

#include "models/model.h"

namespace diml {

// Every convolution of the network, stem and shortcuts included.
std::vector<ConvolutionLayer> layers_of(const Architecture& architecture);

// A convolution with its frozen BatchNorm folded in: one product less per value, the same result.
struct FoldedConvolution {
  std::vector<float> kernel;  // [outputs, inputs, k, k]
  std::vector<float> bias;    // [outputs]
};

FoldedConvolution fold(const Model& model, const ConvolutionLayer& layer);

// The 1x1 projection as a layer with a bias of its own.
ConvolutionLayer projection_layer(const Model& model);
FoldedConvolution projection_of(const Model& model);

// The tensor `name`, which must have this shape. Throws with both shapes.
const Tensor& tensor_of(const Model& model, const std::string& name,
                        const std::vector<std::size_t>& shape);

}  // namespace diml
