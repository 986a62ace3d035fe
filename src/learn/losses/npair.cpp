#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class NPair final : public Loss {
 public:
  NPair(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)), l2_(numbers.at("l2")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Mined mined = mine(*miner_, input);
    const torch::Tensor similarity = input.measure.similarity(input.batch, input.batch);
    return npair_term(inner_products(input, similarity), mined) + l2_ * input.batch.norms.mean();
  }

 private:
  std::unique_ptr<Miner> miner_;
  double l2_;
};

}  // namespace

std::unique_ptr<Loss> make_npair(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                 const LossContext& /*context*/) {
  return std::make_unique<NPair>(numbers, std::move(miner));
}

}  // namespace diml::learn
