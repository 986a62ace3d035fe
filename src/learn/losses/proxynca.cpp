#include "diml/learn/loss.h"
#include "pairs.h"
#include "proxies.h"

namespace diml::learn {
namespace {

class ProxyNca final : public Loss {
 public:
  ProxyNca(const Numbers& numbers, const LossContext& context)
      : squared_scale_(numbers.at("scale") * numbers.at("scale")),
        proxies_("proxies", context.classes, context,
                 numbers.at("proxy_lr_factor") * context.learning_rate, ProxyStart::eighth) {}

  torch::Tensor operator()(const LossInput& input) override {
    // d(3x, 3p)^2 = 9 d(x, p)^2.
    const torch::Tensor squared =
        squared_scale_ * input.measure.distance(input.batch, proxies_.grids()).square();
    const torch::Tensor own = own_class(labels_of(input), squared.size(1));
    const torch::Tensor near = torch::where(own, squared, torch::zeros_like(squared)).sum(1);
    return mean_of(near + log_sum_exp(-squared, ~own, 1));
  }
  std::vector<LossParameter> parameters() override { return {proxies_.parameter()}; }

 private:
  double squared_scale_;
  Proxies proxies_;
};

}  // namespace

std::unique_ptr<Loss> make_proxynca(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                    const LossContext& context) {
  return std::make_unique<ProxyNca>(numbers, context);
}

}  // namespace diml::learn
