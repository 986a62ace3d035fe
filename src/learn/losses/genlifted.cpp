#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class GenLifted final : public Loss {
 public:
  GenLifted(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)), margin_(numbers.at("margin")), l2_(numbers.at("l2")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Mined mined = mine(*miner_, input);
    const torch::Tensor positives = mask_of(mined.positives, input.batch.size());
    const torch::Tensor negatives = mask_of(mined.negatives, input.batch.size());
    const torch::Tensor distance =
        plain_distances(input, input.measure.similarity(input.batch, input.batch));
    const torch::Tensor lifted =
        log_sum_exp(distance, positives, 1) + log_sum_exp(margin_ - distance, negatives, 1);
    return mean_where(positives.any(1) & negatives.any(1), torch::relu(lifted)) +
           l2_ * input.batch.norms.mean();
  }

 private:
  std::unique_ptr<Miner> miner_;
  double margin_;
  double l2_;
};

}  // namespace

std::unique_ptr<Loss> make_genlifted(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                     const LossContext& /*context*/) {
  return std::make_unique<GenLifted>(numbers, std::move(miner));
}

}  // namespace diml::learn
