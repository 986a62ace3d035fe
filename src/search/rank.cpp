#include "diml/rank.h"

#include <algorithm>
#include <numeric>

#include "diml/error.h"

namespace diml {

// Not in the header: a compiler may fuse the two steps in one file and not in another.
float ScoreWeights::total(float cosine, float match) const {
  return global * cosine + structural * match;
}

void check(const ScoreWeights& weights) {
  constexpr float kLargest = 1e6F;
  const auto fits = [](float weight) { return weight >= 0.0F && weight <= kLargest; };
  if (fits(weights.global) && fits(weights.structural) &&
      weights.global + weights.structural > 0.0F) {
    return;
  }
  throw Error("the weights of the two similarities are 0 or more, one of them above 0");
}

std::vector<std::size_t> rank(std::span<const std::int64_t> ids, std::span<const float> cosines,
                              std::span<const float> structural, ScoreWeights weights) {
  const std::size_t head = structural.size();
  if (ids.size() < head || cosines.size() < head) {
    throw Error(ErrorKind::internal, "there are more structural similarities than candidates");
  }
  std::vector<float> totals(head);
  for (std::size_t k = 0; k < head; ++k) totals[k] = weights.total(cosines[k], structural[k]);
  std::vector<std::size_t> order(head);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return totals[x] != totals[y] ? totals[x] > totals[y] : ids[x] < ids[y];
  });
  return order;
}

}  // namespace diml
