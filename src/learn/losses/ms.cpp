#include "../numbers.h"
#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

// The paper's appendix. Its s* = 0 is read as "not in the sum": a constant in the sum would only
// dampen the other terms.
class MultiSimilarity final : public Loss {
 public:
  MultiSimilarity(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)),
        alpha_(number_between(numbers, "alpha", 1e-3, 1e4, "the loss ms")),
        beta_(number_between(numbers, "beta", 1e-3, 1e4, "the loss ms")),
        lambda_(numbers.at("lambda")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Mined mined = mine(*miner_, input);
    const torch::Tensor positives = mask_of(mined.positives, input.batch.size());
    const torch::Tensor negatives = mask_of(mined.negatives, input.batch.size());
    const torch::Tensor above = input.measure.similarity(input.batch, input.batch) - lambda_;
    const torch::Tensor pull = log_one_plus_sum_exp(-alpha_ * above, positives, 1) / alpha_;
    const torch::Tensor push = log_one_plus_sum_exp(beta_ * above, negatives, 1) / beta_;
    return mean_where(positives.any(1) | negatives.any(1), pull + push);
  }

 private:
  std::unique_ptr<Miner> miner_;
  double alpha_;
  double beta_;
  double lambda_;
};

}  // namespace

std::unique_ptr<Loss> make_ms(const Numbers& numbers, std::unique_ptr<Miner> miner,
                              const LossContext& /*context*/) {
  return std::make_unique<MultiSimilarity>(numbers, std::move(miner));
}

}  // namespace diml::learn
