#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "diml/grid.h"
#include "diml/marginals.h"
#include "diml/transport.h"

namespace diml {

enum class Certificate : std::uint8_t { none, duality_gap };

struct MatchParams {
  MarginalRule marginals = MarginalRule::cross_correlation;
  TransportParams transport{};
  Certificate certificate = Certificate::none;
};

// One pair in full: everything an explanation needs. Rows are source cells, columns target cells.
struct StructuralMatch {
  std::vector<double> similarity;  // S_ij = <source_i, target_j>, [R_s, R_t]
  Marginals marginals;             // with the fallbacks that were used
  TransportPlan plan;              // T, with iterations, marginal error and converged
  double score = 0.0;              // structural similarity, sum_ij T_ij S_ij
  double distance = 0.0;           // structural distance, sum_ij T_ij |source_i - target_j|
  std::optional<Bracket>
      bracket;  // of the least transport cost: present on Certificate::duality_gap

  // What the pair of cells adds to the score. All of them sum to it.
  double contribution(std::size_t i, std::size_t j) const {
    return plan(i, j) * similarity[i * plan.cols + j];
  }
};

// Throws when the grids differ in D or a parameter is out of range. No finite grids give NaN or
// infinity.
StructuralMatch match(GridView source, GridView target, const MatchParams& params = {});

}  // namespace diml
