#include "miners.h"

namespace diml::learn {
namespace {

class AllMiner final : public AnchorMiner {
  void choose(const Anchor& anchor, const MinerInput& /*input*/, Random& /*random*/,
              MinedLists& mined) const override {
    for (const std::int64_t positive : anchor.positives) mined.take_positive(anchor, positive);
    for (const std::int64_t negative : anchor.negatives) mined.take_negative(anchor, negative);
  }
  bool takes_lonely_anchors() const override { return true; }
};

}  // namespace

std::unique_ptr<Miner> make_all_miner(const Numbers& /*numbers*/) {
  return std::make_unique<AllMiner>();
}

}  // namespace diml::learn
