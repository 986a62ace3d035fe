#pragma once

#include <torch/torch.h>

namespace diml::learn {

// What follows a convolution in a residual network. Three operations would read and write every
// map three times; on a GPU this is one pass forward and one backward.

// map: the result of a convolution, used nowhere else. In place: max(0, map + bias + shortcut).
// shortcut: undefined for none. No gradient.
void finish_(torch::Tensor& map, const torch::Tensor& bias, const torch::Tensor& shortcut);

// max(0, convolution + bias + shortcut); the gradient reaches all of them.
torch::Tensor finished_convolution(const torch::Tensor& input, const torch::Tensor& kernel,
                                   const torch::Tensor& bias, const torch::Tensor& shortcut,
                                   std::int64_t stride, std::int64_t padding);

}  // namespace diml::learn
