#include "frozen_norm.h"

namespace diml::learn {

FoldedNorm fold_norm(const torch::Tensor& kernel, const torch::Tensor& scale,
                     const torch::Tensor& shift, const torch::Tensor& mean,
                     const torch::Tensor& reciprocal) {
  const torch::Tensor factor = scale * reciprocal;
  return {kernel * factor.view({-1, 1, 1, 1}), torch::addcmul(shift, mean, factor, -1)};
}

}  // namespace diml::learn
