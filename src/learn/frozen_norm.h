#pragma once

#include <torch/torch.h>

namespace diml::learn {

// A convolution and the BatchNorm behind it as one convolution.
struct FoldedNorm {
  torch::Tensor kernel;  // [outputs, inputs, side, side]
  torch::Tensor bias;    // [outputs]
};

// With frozen statistics BatchNorm multiplies and shifts channels, which the convolution's own
// arrays can do: a pass over some weights instead of passes, there and back, over every map. The
// gradient reaches kernel, scale and shift. reciprocal: 1 / deviation of every channel.
FoldedNorm fold_norm(const torch::Tensor& kernel, const torch::Tensor& scale,
                     const torch::Tensor& shift, const torch::Tensor& mean,
                     const torch::Tensor& reciprocal);

}  // namespace diml::learn
