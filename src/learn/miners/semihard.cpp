#include "../numbers.h"
#include "miners.h"

namespace diml::learn {
namespace {

class SemihardMiner final : public AnchorMiner {
 public:
  explicit SemihardMiner(float margin) : margin_(margin) {}

 private:
  void choose(const Anchor& anchor, const MinerInput& /*input*/, Random& random,
              MinedLists& mined) const override {
    const std::int64_t positive = any_of(anchor.positives, random);
    const float near = anchor.to(positive);
    mined.take_positive(anchor, positive);
    mined.take_negative(anchor, any_where(anchor.negatives, random, [&](std::int64_t negative) {
                          const float far = anchor.to(negative);
                          return near < far && far < near + margin_;
                        }));
  }

  float margin_;
};

}  // namespace

std::unique_ptr<Miner> make_semihard_miner(const Numbers& numbers) {
  const double margin = number_between(numbers, "margin", 0.0, 2.0, "the miner semihard");
  return std::make_unique<SemihardMiner>(static_cast<float>(margin));
}

}  // namespace diml::learn
