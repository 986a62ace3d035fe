#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class Triplet final : public Loss {
 public:
  Triplet(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)), margin_(numbers.at("margin")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Triplets triplets = mine_triplets(*miner_, input);
    const PairValues distance = distances_of(pairs_of(triplets), input);
    return mean_of(
        torch::relu(distance.positives.square() - distance.negatives.square() + margin_));
  }

 private:
  std::unique_ptr<Miner> miner_;
  double margin_;
};

}  // namespace

std::unique_ptr<Loss> make_triplet(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                   const LossContext& /*context*/) {
  return std::make_unique<Triplet>(numbers, std::move(miner));
}

}  // namespace diml::learn
