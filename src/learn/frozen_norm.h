#pragma once

#include <vector>

#include <torch/torch.h>

namespace diml::learn {

// With frozen statistics BatchNorm multiplies and shifts channels, which the convolution before it
// can do itself: a pass over some weights instead of forward and backward passes over every map.

// The factors and biases of the norms of many layers, computed together: on a GPU a call for each
// layer would take longer than its computation.
class FrozenNorms {
 public:
  FrozenNorms() = default;
  // One of each for every layer, [channels].
  FrozenNorms(const std::vector<torch::Tensor>& means, const std::vector<torch::Tensor>& variances,
              double epsilon);

  struct Channels {
    std::vector<torch::Tensor> factors;  // of the kernels, [channels] of every layer
    std::vector<torch::Tensor> biases;   // in `type`
  };
  // scales, shifts: what is learnt, for every layer. The gradient reaches them.
  Channels channels(const std::vector<torch::Tensor>& scales,
                    const std::vector<torch::Tensor>& shifts, torch::ScalarType type) const;

 private:
  std::vector<std::int64_t> sizes_;
  torch::Tensor means_;        // of all layers, concatenated
  torch::Tensor reciprocals_;  // 1 / deviation
};

// kernel: [outputs, inputs, side, side], factor: [outputs]. Their product in `type`; the gradient
// reaches both.
torch::Tensor scaled_kernel(const torch::Tensor& kernel, const torch::Tensor& factor,
                            torch::ScalarType type);

}  // namespace diml::learn
