#pragma once

#include <vector>

#include "models/model.h"

namespace diml {

// A convolution with its frozen BatchNorm folded in: one product less per value, the same result.
struct FoldedConvolution {
  std::vector<float> kernel;  // [outputs, inputs, k, k]
  std::vector<float> bias;    // [outputs]
};

FoldedConvolution fold(const Model& model, const Convolution& layer);

// A linear layer with its LayerScale folded in.
struct FoldedLinear {
  std::vector<float> matrix;  // [outputs, inputs]
  std::vector<float> bias;    // [outputs]
};

FoldedLinear fold(const Model& model, const Linear& linear);

// The tensor `name`, which must have this shape. Throws with both shapes.
const Tensor& tensor_of(const Model& model, const std::string& name,
                        const std::vector<std::size_t>& shape);

}  // namespace diml
