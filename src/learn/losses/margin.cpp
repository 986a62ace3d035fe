#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class Margin final : public Loss {
 public:
  Margin(const Numbers& numbers, std::unique_ptr<Miner> miner, const LossContext& context)
      : miner_(std::move(miner)),
        margin_(numbers.at("margin")),
        beta_lr_(numbers.at("beta_lr")),
        beta_(torch::full({context.classes}, numbers.at("beta"), torch::requires_grad())) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Mined mined = mine(*miner_, input);
    const PairValues distance = distances_of(mined, input);
    const torch::Tensor beta = beta_.index_select(0, labels_of(input));  // of every anchor
    const torch::Tensor near =
        distance.positives - beta.index_select(0, mined.positives.select(1, 0)) + margin_;
    const torch::Tensor far =
        beta.index_select(0, mined.negatives.select(1, 0)) - distance.negatives + margin_;
    return mean_of_active(torch::cat({near, far}));
  }
  std::vector<LossParameter> parameters() override { return {{"beta", beta_, beta_lr_}}; }

 private:
  std::unique_ptr<Miner> miner_;
  double margin_;
  double beta_lr_;
  torch::Tensor beta_;  // [classes]: how far a class reaches
};

}  // namespace

std::unique_ptr<Loss> make_margin(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                  const LossContext& context) {
  return std::make_unique<Margin>(numbers, std::move(miner), context);
}

}  // namespace diml::learn
