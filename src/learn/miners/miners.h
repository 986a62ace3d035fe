#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "diml/learn/miner.h"

namespace diml::learn {

// The batch as a rule sees it from one anchor.
struct Anchor {
  std::int64_t index = 0;
  std::vector<std::int64_t> positives{};  // of its class, without itself
  std::vector<std::int64_t> negatives{};  // of the other classes
  const float* distances = nullptr;       // to every image of the batch

  float to(std::int64_t other) const { return distances[other]; }
};

// The pairs chosen so far.
struct MinedLists {
  std::vector<std::int64_t> positives;  // anchor, positive, anchor, positive ...
  std::vector<std::int64_t> negatives;

  void take_positive(const Anchor& anchor, std::int64_t positive);
  void take_negative(const Anchor& anchor, std::int64_t negative);
};

// A miner that handles one anchor after the other.
class AnchorMiner : public Miner {
 public:
  Mined operator()(const MinerInput& input) final;

 protected:
  virtual void choose(const Anchor& anchor, const MinerInput& input, Random& random,
                      MinedLists& mined) const = 0;
  // Whether anchors that have no positive, or no negative, in the batch are included as well.
  virtual bool takes_lonely_anchors() const { return false; }
};

// One of them at random; `candidates` is not empty.
std::int64_t any_of(const std::vector<std::int64_t>& candidates, Random& random);

// One of those that satisfy the rule at random; one of all of them where none does.
template <typename Rule>
std::int64_t any_where(const std::vector<std::int64_t>& candidates, Random& random, Rule rule) {
  std::vector<std::int64_t> suitable;
  for (const std::int64_t candidate : candidates) {
    if (rule(candidate)) suitable.push_back(candidate);
  }
  return any_of(suitable.empty() ? candidates : suitable, random);
}

std::unique_ptr<Miner> make_all_miner(const Numbers& numbers);
std::unique_ptr<Miner> make_distance_miner(const Numbers& numbers);
std::unique_ptr<Miner> make_multi_similarity_miner(const Numbers& numbers);
std::unique_ptr<Miner> make_npair_miner(const Numbers& numbers);
std::unique_ptr<Miner> make_random_miner(const Numbers& numbers);
std::unique_ptr<Miner> make_semihard_miner(const Numbers& numbers);
std::unique_ptr<Miner> make_softhard_miner(const Numbers& numbers);

}  // namespace diml::learn
