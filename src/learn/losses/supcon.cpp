#include "../numbers.h"
#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

// Khosla et al. 2020: the mean over positives outside the logarithm.
class SupCon final : public Loss {
 public:
  explicit SupCon(const Numbers& numbers)
      : temperature_(number_between(numbers, "temperature", 1e-4, 1e4, "the loss supcon")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const torch::Tensor same = same_class(labels_of(input));
    const torch::Tensor others = ~torch::eye(input.batch.size(), same.options());
    const torch::Tensor logits = input.measure.similarity(input.batch, input.batch) / temperature_;
    const torch::Tensor log_share = logits - log_sum_exp(logits, others, 1).unsqueeze(1);
    const torch::Tensor positives = same.sum(1);
    const torch::Tensor means = log_share.masked_fill(~same, 0.0).sum(1) / positives.clamp_min(1);
    return mean_where(positives > 0, -means);
  }

 private:
  double temperature_;
};

}  // namespace

std::unique_ptr<Loss> make_supcon(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                  const LossContext& /*context*/) {
  return std::make_unique<SupCon>(numbers);
}

}  // namespace diml::learn
