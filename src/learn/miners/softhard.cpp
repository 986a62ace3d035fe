#include <algorithm>

#include "miners.h"

namespace diml::learn {
namespace {

class SofthardMiner final : public AnchorMiner {
  void choose(const Anchor& anchor, const MinerInput& /*input*/, Random& random,
              MinedLists& mined) const override {
    const auto nearer = [&](std::int64_t x, std::int64_t y) { return anchor.to(x) < anchor.to(y); };
    const float nearest_negative =
        anchor.to(*std::min_element(anchor.negatives.begin(), anchor.negatives.end(), nearer));
    const float farthest_positive =
        anchor.to(*std::max_element(anchor.positives.begin(), anchor.positives.end(), nearer));
    mined.take_positive(anchor, any_where(anchor.positives, random, [&](std::int64_t positive) {
                          return anchor.to(positive) > nearest_negative;
                        }));
    mined.take_negative(anchor, any_where(anchor.negatives, random, [&](std::int64_t negative) {
                          return anchor.to(negative) < farthest_positive;
                        }));
  }
};

}  // namespace

std::unique_ptr<Miner> make_softhard_miner(const Numbers& /*numbers*/) {
  return std::make_unique<SofthardMiner>();
}

}  // namespace diml::learn
