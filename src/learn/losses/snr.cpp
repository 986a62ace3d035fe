#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class Snr final : public Loss {
 public:
  Snr(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)), margin_(numbers.at("margin")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Triplets triplets = mine_triplets(*miner_, input);
    const Mined pairs = pairs_of(triplets);
    const PairValues noise = parted(input.measure.noise(input.batch, input.batch, joined(pairs)),
                                    pairs.positives.size(0));
    return mean_of_active(noise.positives - noise.negatives + margin_);
  }

 private:
  std::unique_ptr<Miner> miner_;
  double margin_;
};

}  // namespace

std::unique_ptr<Loss> make_snr(const Numbers& numbers, std::unique_ptr<Miner> miner,
                               const LossContext& /*context*/) {
  return std::make_unique<Snr>(numbers, std::move(miner));
}

}  // namespace diml::learn
