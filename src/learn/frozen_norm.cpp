#include "frozen_norm.h"

namespace diml::learn {
namespace {

torch::Tensor per_output(const torch::Tensor& factor) { return factor.view({-1, 1, 1, 1}); }

// Product and cast in one pass forward and one backward; plain autograd would need two of each.
class ScaledKernel : public torch::autograd::Function<ScaledKernel> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& kernel, const torch::Tensor& factor,
                               std::int64_t type) {
    context->save_for_backward({kernel, factor});
    torch::Tensor scaled =
        torch::empty_like(kernel, kernel.options().dtype(static_cast<torch::ScalarType>(type)));
    return torch::mul_out(scaled, kernel, per_output(factor));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const torch::Tensor& kernel = saved[0];
    const torch::Tensor& factor = saved[1];
    return {gradients[0] * per_output(factor), (gradients[0] * kernel).sum({1, 2, 3}), {}};
  }
};

}  // namespace

FrozenNorms::FrozenNorms(const std::vector<torch::Tensor>& means,
                         const std::vector<torch::Tensor>& variances, double epsilon) {
  const torch::NoGradGuard no_gradient;
  for (const torch::Tensor& mean : means) sizes_.push_back(mean.size(0));
  means_ = torch::cat(means);
  reciprocals_ = (torch::cat(variances) + epsilon).rsqrt();
}

FrozenNorms::Channels FrozenNorms::channels(const std::vector<torch::Tensor>& scales,
                                            const std::vector<torch::Tensor>& shifts,
                                            torch::ScalarType type) const {
  const torch::Tensor factors = torch::cat(scales) * reciprocals_;
  const torch::Tensor biases = torch::addcmul(torch::cat(shifts), means_, factors, -1).to(type);
  return {factors.split_with_sizes(sizes_), biases.split_with_sizes(sizes_)};
}

torch::Tensor scaled_kernel(const torch::Tensor& kernel, const torch::Tensor& factor,
                            torch::ScalarType type) {
  return ScaledKernel::apply(kernel, factor, static_cast<std::int64_t>(type));
}

}  // namespace diml::learn
