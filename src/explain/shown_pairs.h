#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diml/figure.h"
#include "ink.h"

namespace diml::explained {

// A pair of parts in a figure, or a region. Numbers count from 1, the strongest first, then the
// weakest.
struct ShownPair {
  const PartPair* pair = nullptr;  // of the explanation; of a region, its middle cells and sums
  std::size_t number = 0;
  bool strong = false;
  double weight = 0.0;  // of its line, from 0 to 1
  const Region* region = nullptr;
  std::shared_ptr<const PartPair> own{};  // where `pair` is of a region

  Ink ink() const;
};

// The formula of a pair, the share of a region.
std::string label_of(const ShownPair& one);

std::vector<ShownPair> shown_pairs(const Explanation& why, const FigureParams& params);

// What the formulas and colours mean, and how the match was computed.
std::string caption_of(const Explanation& why, const std::vector<ShownPair>& shown,
                       const FigureParams& params);

}  // namespace diml::explained
