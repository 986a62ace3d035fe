#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

// Sun et al. 2020, of pairs.
class Circle final : public Loss {
 public:
  Circle(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)), margin_(numbers.at("margin")), gamma_(numbers.at("gamma")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Mined mined = mine(*miner_, input);
    const torch::Tensor positives = mask_of(mined.positives, input.batch.size());
    const torch::Tensor negatives = mask_of(mined.negatives, input.batch.size());
    const torch::Tensor similarity = input.measure.similarity(input.batch, input.batch);
    // How far a pair is from its optimum; a weight without gradient.
    const torch::Tensor far = torch::relu(1.0 + margin_ - similarity.detach());
    const torch::Tensor near = torch::relu(similarity.detach() + margin_);
    const torch::Tensor pull =
        log_sum_exp(-gamma_ * far * (similarity - (1.0 - margin_)), positives, 1);
    const torch::Tensor push = log_sum_exp(gamma_ * near * (similarity - margin_), negatives, 1);
    const torch::Tensor sum = pull + push;
    return mean_where(positives.any(1) & negatives.any(1),
                      torch::logaddexp(sum, torch::zeros_like(sum)));
  }

 private:
  std::unique_ptr<Miner> miner_;
  double margin_;
  double gamma_;
};

}  // namespace

std::unique_ptr<Loss> make_circle(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                  const LossContext& /*context*/) {
  return std::make_unique<Circle>(numbers, std::move(miner));
}

}  // namespace diml::learn
