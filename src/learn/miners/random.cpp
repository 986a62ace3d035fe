#include "miners.h"

namespace diml::learn {
namespace {

class RandomMiner final : public AnchorMiner {
  void choose(const Anchor& anchor, const MinerInput& /*input*/, Random& random,
              MinedLists& mined) const override {
    mined.take_positive(anchor, any_of(anchor.positives, random));
    mined.take_negative(anchor, any_of(anchor.negatives, random));
  }
};

}  // namespace

std::unique_ptr<Miner> make_random_miner(const Numbers& /*numbers*/) {
  return std::make_unique<RandomMiner>();
}

}  // namespace diml::learn
