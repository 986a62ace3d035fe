#pragma once

#include <torch/torch.h>

#include "diml/learn/measure.h"
#include "diml/matcher.h"

namespace diml::learn {

// The pairs of the plans: every x with every y, or only some pairs.
struct PlanRequest {
  const Grids& x;
  const Grids& y;
  torch::Tensor pairs{};  // [P, 2] int64, where the cells are; undefined for all
};

// Plans are [x, y, R_x, R_y], or [P, R_x, R_y] of pairs.

// From the matcher of the search: constants, float32, on the device of the cells. Cells on a GPU
// with a cuda matcher stay there, and the host does not wait.
torch::Tensor matched_plans(const PlanRequest& request, const Matcher& matcher,
                            const MatchParams& params);

// The gradient flows through the iterations. similarities: of the cells, of the plans' shape.
torch::Tensor unrolled_plans(const PlanRequest& request, const torch::Tensor& similarities,
                             const MatchParams& params);

}  // namespace diml::learn
