#pragma once

#include <memory>
#include <span>

#include "diml/matcher.h"

namespace diml::bench {

// Pairs to match again and again with everything in the card's memory, as a peer's tensors are:
// grids, the list of pairs and the scores.
class OnCard {
 public:
  OnCard(const GridSetView& grids, std::span<const Pair> pairs);
  ~OnCard();

  void match();  // all pairs; returns when the scores are complete
  void download(std::span<float> scores) const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace diml::bench
