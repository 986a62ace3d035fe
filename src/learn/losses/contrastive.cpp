#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class Contrastive final : public Loss {
 public:
  Contrastive(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)),
        positive_margin_(numbers.at("positive_margin")),
        negative_margin_(numbers.at("negative_margin")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Mined mined = mine(*miner_, input);
    const PairValues distance = distances_of(mined, input);
    return mean_of(torch::relu(distance.positives - positive_margin_)) +
           mean_of(torch::relu(negative_margin_ - distance.negatives));
  }

 private:
  std::unique_ptr<Miner> miner_;
  double positive_margin_;
  double negative_margin_;
};

}  // namespace

std::unique_ptr<Loss> make_contrastive(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                       const LossContext& /*context*/) {
  return std::make_unique<Contrastive>(numbers, std::move(miner));
}

}  // namespace diml::learn
