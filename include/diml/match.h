#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "diml/grid.h"
#include "diml/marginals.h"
#include "diml/transport.h"

namespace diml {

enum class Certificate : std::uint8_t { none, duality_gap };

// What is expected of a plan besides similar cells.
enum class Prior : std::uint8_t {
  none,
  affine,  // neighbours stay neighbours: one affine map, fitted to the plan, takes source cells
           // near their target cells. docs/explain.md, docs/decisions/0017
};
Prior prior_from(std::string_view name);
const char* name_of(Prior prior);

struct AffinePriorParams {
  // Standard deviation of a target cell around its predicted place, as a share of the longer side:
  // 1.5 cells of a 7 x 7 grid.
  double sigma = 1.5 / 7.0;
  int rounds = 3;  // of a fit and a solution with it
};

// Why a fit is not used.
enum class FitDoubt : std::uint8_t {
  none,
  few_cells,  // the mass lies on a line or in a point: no affine map is determined
  collapsed,  // the map shrinks or stretches some direction more than threefold
  scattered,  // less than kLeastSupport of the flow is near the map: no better than by chance
};
FitDoubt fit_doubt_from(std::string_view name);
const char* name_of(FitDoubt doubt);

constexpr double kLeastSupport = 0.35;  // docs/decisions/0017

// x' = a[0] x + a[1] y + a[2], y' = a[3] x + a[4] y + a[5]; x to the right and y down, from the
// middle of the grid, the longer side being 1.
using AffineMap = std::array<double, 6>;

// What a prior did to a plan.
struct PriorReport {
  int rounds = 0;                      // solutions with a prior
  FitDoubt doubt = FitDoubt::none;     // of the last fit
  AffineMap map = {1, 0, 0, 0, 1, 0};  // the last fit
  double support = 0.0;                // how much of the flow is near the map, from 0 to 1

  // False: the plan is the one without a prior.
  bool trusted() const { return doubt == FitDoubt::none; }
};

struct MatchParams {
  MarginalRule marginals = MarginalRule::cross_correlation;
  TransportParams transport{};
  Certificate certificate = Certificate::none;
  // `reference` and `cpu` have the affine prior; the other backends throw where it is wanted.
  Prior prior = Prior::none;
  AffinePriorParams affine{};
  // A prior and the marginals `centre` need to know how the cells lie. Empty: a square; other
  // numbers of cells throw with a prior.
  GridShape source_shape{};
  GridShape target_shape{};
};

// One pair in full: everything an explanation needs. Rows are source cells, columns target cells.
struct StructuralMatch {
  std::vector<double> similarity;    // S_ij = <source_i, target_j>, [R_s, R_t]
  Marginals marginals;               // with the fallbacks that were used
  TransportPlan plan;                // T, with iterations, marginal error and converged
  std::optional<PriorReport> prior;  // where params.prior is not none
  double score = 0.0;                // structural similarity, sum_ij T_ij S_ij
  double distance = 0.0;             // structural distance, sum_ij T_ij |source_i - target_j|
  std::optional<Bracket> bracket;    // of the least cost, with Certificate::duality_gap

  // What the pair of cells adds to the score. All of them sum to it.
  double contribution(std::size_t i, std::size_t j) const {
    return plan(i, j) * similarity[i * plan.cols + j];
  }
};

// The score of re-ranked images: the weighted sum of cosine and structural similarity.
struct ScoreWeights {
  float global = 1.0F;
  float structural = 1.0F;

  float total(float cosine, float match) const;
};

// Throws on weights that give no order: below 0, or both 0.
void check(const ScoreWeights& weights);

// Throws on a prior that is out of range, or that the backend lacks.
void check_prior(const MatchParams& params, Backend backend);

// Throws when the grids differ in D or a parameter is out of range. No finite grids give NaN or
// infinity.
StructuralMatch match(GridView source, GridView target, const MatchParams& params = {});

}  // namespace diml
