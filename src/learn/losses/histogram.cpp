#include "../numbers.h"
#include "diml/learn/loss.h"
#include "pairs.h"

namespace diml::learn {
namespace {

class Histogram final : public Loss {
 public:
  explicit Histogram(const Numbers& numbers)
      : bins_(static_cast<std::int64_t>(
            number_between(numbers, "bins", 2.0, 10000.0, "the loss histogram"))) {}

  torch::Tensor operator()(const LossInput& input) override {
    const torch::Tensor labels = labels_of(input);
    const torch::Tensor same = same_class(labels);
    const torch::Tensor other = labels.unsqueeze(1) != labels.unsqueeze(0);
    const torch::Tensor similarity = input.measure.similarity(input.batch, input.batch);
    // The probability that a negative is more similar than a positive.
    return (histogram_of(similarity.masked_select(other)) *
            histogram_of(similarity.masked_select(same)).cumsum(0))
        .sum();
  }

 private:
  // similarities: [P]. Each is split between the two nearest of the evenly spaced nodes.
  torch::Tensor histogram_of(const torch::Tensor& similarities) const {
    const double per_unit = static_cast<double>(bins_ - 1) / 2.0;
    const torch::Tensor position =
        ((similarities + 1.0) * per_unit).clamp(0.0, static_cast<double>(bins_ - 1));
    const torch::Tensor nodes = torch::arange(bins_, position.options());
    const torch::Tensor shares =
        torch::relu(1.0 - (position.unsqueeze(1) - nodes.unsqueeze(0)).abs());  // [P, bins]
    return shares.sum(0) / static_cast<double>(std::max<std::int64_t>(1, position.size(0)));
  }

  std::int64_t bins_;
};

}  // namespace

std::unique_ptr<Loss> make_histogram(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                     const LossContext& /*context*/) {
  return std::make_unique<Histogram>(numbers);
}

}  // namespace diml::learn
