#pragma once

#include <torch/torch.h>

#include "diml/learn/grids.h"
#include "diml/matcher.h"

namespace diml::learn {

// Whose plans: of every x with every y, or of some pairs alone.
struct PlanRequest {
  const Grids& x;
  const Grids& y;
  torch::Tensor pairs{};  // [P, 2] int64, where the cells are; undefined for all
};

// Plans are [x, y, R_x, R_y], or [P, R_x, R_y] of pairs.

// From the matcher that searches: constants, float32, where the cells are. Cells on a GPU whose
// matcher is there as well stay there, and nothing waits.
torch::Tensor matched_plans(const PlanRequest& request, const Matcher& matcher,
                            const MatchParams& params);

// The gradient flows through the iterations. similarities: of the cells, of the plans' shape.
torch::Tensor unrolled_plans(const PlanRequest& request, const torch::Tensor& similarities,
                             const MatchParams& params);

}  // namespace diml::learn
