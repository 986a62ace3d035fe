#include <algorithm>

#include "../numbers.h"
#include "miners.h"

namespace diml::learn {
namespace {

// The only rule without a fallback: an anchor whose classes are already separated gives no pairs,
// and the loss is a mean over the other anchors.
class MultiSimilarityMiner final : public AnchorMiner {
 public:
  explicit MultiSimilarityMiner(float epsilon) : epsilon_(epsilon) {}

 private:
  void choose(const Anchor& anchor, const MinerInput& /*input*/, Random& /*random*/,
              MinedLists& mined) const override {
    // Cosine, from the distance of unit vectors.
    const auto similarity = [&](std::int64_t other) {
      return 1.0f - anchor.to(other) * anchor.to(other) / 2.0f;
    };
    const auto less_like = [&](std::int64_t x, std::int64_t y) {
      return similarity(x) < similarity(y);
    };
    const float least_like_positive =
        similarity(*std::min_element(anchor.positives.begin(), anchor.positives.end(), less_like));
    const float most_like_negative =
        similarity(*std::max_element(anchor.negatives.begin(), anchor.negatives.end(), less_like));
    for (const std::int64_t positive : anchor.positives) {
      if (similarity(positive) < most_like_negative + epsilon_) {
        mined.take_positive(anchor, positive);
      }
    }
    for (const std::int64_t negative : anchor.negatives) {
      if (similarity(negative) > least_like_positive - epsilon_) {
        mined.take_negative(anchor, negative);
      }
    }
  }

  float epsilon_;
};

}  // namespace

std::unique_ptr<Miner> make_multi_similarity_miner(const Numbers& numbers) {
  const double epsilon =
      number_between(numbers, "epsilon", -2.0, 2.0, "the miner multi_similarity");
  return std::make_unique<MultiSimilarityMiner>(static_cast<float>(epsilon));
}

}  // namespace diml::learn
