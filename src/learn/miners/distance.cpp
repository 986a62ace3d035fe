#include <algorithm>
#include <cmath>
#include <limits>

#include "../numbers.h"
#include "miners.h"

namespace diml::learn {
namespace {

// log q(d): the density of the distance of two random points of the unit sphere, up to a constant.
double log_density(double distance, double dim) {
  // Opposite points have density 0: without a bound they would always be drawn.
  constexpr double kLeast = 1e-8;
  return (dim - 2.0) * std::log(distance) +
         (dim - 3.0) / 2.0 * std::log(std::max(kLeast, 1.0 - distance * distance / 4.0));
}

class DistanceMiner final : public AnchorMiner {
 public:
  DistanceMiner(double lower, double upper) : lower_(lower), upper_(upper) {}

 private:
  void choose(const Anchor& anchor, const MinerInput& input, Random& random,
              MinedLists& mined) const override {
    mined.take_positive(anchor, any_of(anchor.positives, random));
    mined.take_negative(anchor, negative_of(anchor, static_cast<double>(input.dim), random));
  }

  std::int64_t negative_of(const Anchor& anchor, double dim, Random& random) const {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    std::vector<double> log_weights;
    log_weights.reserve(anchor.negatives.size());
    for (const std::int64_t negative : anchor.negatives) {
      const double distance = anchor.to(negative);
      log_weights.push_back(
          distance > upper_ ? kNever : -log_density(std::clamp(distance, lower_, 2.0), dim));
    }
    const double largest = *std::max_element(log_weights.begin(), log_weights.end());
    if (!std::isfinite(largest)) return any_of(anchor.negatives, random);
    // Relative to the largest: the weights themselves exceed the range of a double.
    double total = 0.0;
    for (double& weight : log_weights) total += (weight = std::exp(weight - largest));
    double left = random.uniform() * total;
    for (std::size_t k = 0; k < log_weights.size(); ++k) {
      left -= log_weights[k];
      if (left < 0.0) return anchor.negatives[k];
    }
    return any_of(anchor.negatives, random);  // a distance that is not a number
  }

  double lower_;
  double upper_;
};

}  // namespace

std::unique_ptr<Miner> make_distance_miner(const Numbers& numbers) {
  const std::string owner = "the miner distance";
  const double upper = number_between(numbers, "upper", 0.0, 2.0, owner);
  return std::make_unique<DistanceMiner>(
      number_between(numbers, "lower", 1e-3, 2.0, owner),
      // Rounding may put a distance beyond 2: 2 is no bound.
      upper < 2.0 ? upper : std::numeric_limits<double>::infinity());
}

}  // namespace diml::learn
