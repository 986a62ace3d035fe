#include "diml/candidates.h"

#include <algorithm>
#include <numeric>

#include "diml/error.h"
#include "merge.h"

namespace diml {

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
    return is_better({totals[x], ids[x]}, {totals[y], ids[y]});
  });
  return order;
}

}  // namespace diml
