#include <cmath>

#include "../numbers.h"
#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

double squared_tangent(const Numbers& numbers) {
  constexpr double kDegree = 3.14159265358979323846 / 180.0;
  const double degrees = number_between(numbers, "alpha", 0.0, 89.0, "the loss angular");
  const double tangent = std::tan(degrees * kDegree);
  return tangent * tangent;
}

class Angular final : public Loss {
 public:
  Angular(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)),
        squared_tangent_(squared_tangent(numbers)),
        weight_(numbers.at("weight")),
        l2_(numbers.at("l2")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Mined mined = mine(*miner_, input);
    const torch::Tensor similarity = input.measure.similarity(input.batch, input.batch);
    const torch::Tensor npair =
        npair_term(inner_products(input, similarity), mined) + l2_ * input.batch.norms.mean();

    const torch::Tensor anchors = mined.positives.select(1, 0);
    const torch::Tensor negatives = mask_of(mined.negatives, input.batch.size());
    // <a + p, n> of unit vectors: [P, N].
    const torch::Tensor both = similarity.index_select(0, anchors) +
                               similarity.index_select(0, mined.positives.select(1, 1));
    const torch::Tensor logits =
        4.0 * squared_tangent_ * both -
        2.0 * (1.0 + squared_tangent_) * at(similarity, mined.positives).unsqueeze(1);
    return npair +
           weight_ * mean_of(log_one_plus_sum_exp(logits, negatives.index_select(0, anchors), 1));
  }

 private:
  std::unique_ptr<Miner> miner_;
  double squared_tangent_;
  double weight_;
  double l2_;
};

}  // namespace

std::unique_ptr<Loss> make_angular(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                   const LossContext& /*context*/) {
  return std::make_unique<Angular>(numbers, std::move(miner));
}

}  // namespace diml::learn
