#include "diml/marginals.h"

#include <iterator>

#include "base/enum_names.h"
#include "marginal_weight.h"

namespace diml {
namespace {

constexpr EnumNames<std::size(kMarginalRules)> kRules = {"cross_correlation", "uniform"};

double correlation(GridView grid, std::size_t cell, const float* other_global) {
  double dot = 0.0;
  for (std::size_t d = 0; d < grid.dim; ++d) {
    dot += static_cast<double>(other_global[d]) * grid.at(cell, d);
  }
  return dot;
}

// Weights that sum to 1. True where all weights are 0 and all cells get the same weight.
bool weigh(MarginalRule rule, GridView grid, const float* other_global,
           std::vector<double>& weights) {
  double sum = 0.0;
  for (std::size_t i = 0; i < grid.count; ++i) {
    weights[i] = marginal_weight(rule, correlation(grid, i, other_global));
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

Marginals make_marginals(GridView source, GridView target, MarginalRule rule) {
  Marginals marginals{std::vector<double>(source.count), std::vector<double>(target.count), {}};
  marginals.fallbacks.uniform_source = weigh(rule, source, target.global, marginals.source);
  marginals.fallbacks.uniform_target = weigh(rule, target, source.global, marginals.target);
  return marginals;
}

}  // namespace diml
