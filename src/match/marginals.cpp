#include "diml/marginals.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/enum_names.h"
#include "cell_places.h"
#include "diml/error.h"
#include "marginal_weight.h"

namespace diml {
namespace {

constexpr EnumNames<std::size(kMarginalRules)> kRules = {"cross_correlation", "uniform", "centre"};

double correlation(GridView grid, std::size_t cell, const float* other_global) {
  double dot = 0.0;
  for (std::size_t d = 0; d < grid.dim; ++d) {
    dot += static_cast<double>(other_global[d]) * grid.at(cell, d);
  }
  return dot;
}

// Weights that sum to 1. True where all weights are 0 and all cells get the same weight.
bool weigh(MarginalRule rule, GridView grid, GridShape shape, const float* other_global,
           std::vector<double>& weights) {
  const std::vector<float> by_place = weights_by_place(rule, grid.count, shape);
  double sum = 0.0;
  for (std::size_t i = 0; i < grid.count; ++i) {
    const double known = by_place.empty() ? correlation(grid, i, other_global) : by_place[i];
    weights[i] = marginal_weight(rule, known);
    sum += weights[i];
  }
  const bool nothing = !(sum > kNoCorrelation);
  for (double& weight : weights) {
    weight = nothing ? 1.0 / static_cast<double>(grid.count) : weight / sum;
  }
  return nothing;
}

}  // namespace

const char* name_of(MarginalRule rule) { return name_in(kRules, rule); }

MarginalRule marginal_rule_from(std::string_view name) {
  return value_in<MarginalRule>(kRules, name, "marginals");
}

Marginals make_marginals(GridView source, GridView target, MarginalRule rule,
                         GridShape source_shape, GridShape target_shape) {
  Marginals marginals{std::vector<double>(source.count), std::vector<double>(target.count), {}};
  marginals.fallbacks.uniform_source =
      weigh(rule, source, source_shape, target.global, marginals.source);
  marginals.fallbacks.uniform_target =
      weigh(rule, target, target_shape, source.global, marginals.target);
  return marginals;
}

std::vector<float> weights_by_place(MarginalRule rule, std::size_t count, GridShape shape) {
  if (rule != MarginalRule::centre) return {};
  if (shape.count() != count) shape = shape_of_cells(count);
  const auto longer = static_cast<double>(std::max(shape.rows, shape.cols));
  std::vector<float> weights;
  for (std::size_t cell = 0; cell < count; ++cell) {
    const auto from_middle = [longer](std::size_t place, std::size_t places) {
      return (static_cast<double>(place) + 0.5 - static_cast<double>(places) / 2.0) / longer;
    };
    const double y = from_middle(cell / shape.cols, shape.rows);
    const double x = from_middle(cell % shape.cols, shape.cols);
    weights.push_back(
        static_cast<float>(std::exp(-(x * x + y * y) / (2.0 * kCentreSigma * kCentreSigma))));
  }
  return weights;
}

void check_marginals_and_mass(const MatchParams& params, Backend backend) {
  if (backend != Backend::cuda) return;
  if (params.marginals == MarginalRule::centre) {
    throw Error(ErrorKind::unsupported,
                "the matcher 'cuda' has no marginals 'centre': take the matcher cpu", "matcher");
  }
  if (params.transport.mass < 1.0) {
    throw Error(ErrorKind::unsupported,
                "the matcher 'cuda' transports all of the mass: take the matcher cpu for a part",
                "matcher");
  }
}

}  // namespace diml
