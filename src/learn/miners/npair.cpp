#include <map>

#include "miners.h"

namespace diml::learn {
namespace {

class NPairMiner final : public AnchorMiner {
  void choose(const Anchor& anchor, const MinerInput& input, Random& random,
              MinedLists& mined) const override {
    mined.take_positive(anchor, any_of(anchor.positives, random));
    const torch::Tensor labels = input.labels.to(torch::kCPU, torch::kInt64).contiguous();
    const auto* label = labels.data_ptr<std::int64_t>();
    std::map<std::int64_t, std::vector<std::int64_t>> classes;
    for (const std::int64_t negative : anchor.negatives) {
      classes[label[negative]].push_back(negative);
    }
    for (const auto& [of_class, images] : classes) {
      mined.take_negative(anchor, any_of(images, random));
    }
  }
};

}  // namespace

std::unique_ptr<Miner> make_npair_miner(const Numbers& /*numbers*/) {
  return std::make_unique<NPairMiner>();
}

}  // namespace diml::learn
