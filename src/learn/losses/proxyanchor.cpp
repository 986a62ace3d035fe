#include "diml/learn/loss.h"
#include "pairs.h"
#include "proxies.h"

namespace diml::learn {
namespace {

class ProxyAnchor final : public Loss {
 public:
  ProxyAnchor(const Numbers& numbers, const LossContext& context)
      : alpha_(numbers.at("alpha")),
        margin_(numbers.at("margin")),
        proxies_("proxies", context.classes, context,
                 numbers.at("proxy_lr_factor") * context.learning_rate) {}

  torch::Tensor operator()(const LossInput& input) override {
    const torch::Tensor similarity = input.measure.similarity(input.batch, proxies_.grids());
    const torch::Tensor own = own_class(labels_of(input), similarity.size(1));
    const torch::Tensor pull = log_one_plus_sum_exp(-alpha_ * (similarity - margin_), own, 0);
    const torch::Tensor push = log_one_plus_sum_exp(alpha_ * (similarity + margin_), ~own, 0);
    return mean_where(own.any(0), pull) + push.mean();
  }
  std::vector<LossParameter> parameters() override { return {proxies_.parameter()}; }

 private:
  double alpha_;
  double margin_;
  Proxies proxies_;
};

}  // namespace

std::unique_ptr<Loss> make_proxyanchor(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                       const LossContext& context) {
  return std::make_unique<ProxyAnchor>(numbers, context);
}

}  // namespace diml::learn
