#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class Quadruplet final : public Loss {
 public:
  Quadruplet(const Numbers& numbers, std::unique_ptr<Miner> miner)
      : miner_(std::move(miner)),
        margin_(numbers.at("margin")),
        second_margin_(numbers.at("second_margin")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Triplets triplets = mine_triplets(*miner_, input);
    const SecondNegatives second = second_negatives(triplets, labels_of(input), input.seed);
    const torch::Tensor apart_pairs = torch::stack({triplets.negatives, second.images}, 1);
    // Distances to the positive, to the negative, and between the negatives, for every triplet.
    const std::vector<torch::Tensor> distance =
        input.measure
            .distance(input.batch, input.batch,
                      torch::cat({joined(pairs_of(triplets)), apart_pairs}))
            .view({3, -1})
            .unbind();
    const torch::Tensor first = torch::relu(distance[0] - distance[1] + margin_);
    const torch::Tensor apart = torch::relu(distance[0] - distance[2] + second_margin_);
    return mean_of(first) + mean_of(apart * second.found);
  }

 private:
  std::unique_ptr<Miner> miner_;
  double margin_;
  double second_margin_;
};

}  // namespace

std::unique_ptr<Loss> make_quadruplet(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                      const LossContext& /*context*/) {
  return std::make_unique<Quadruplet>(numbers, std::move(miner));
}

}  // namespace diml::learn
