#include "diml/marginals.h"

#include <algorithm>
#include <array>
#include <string>

#include "diml/error.h"

namespace diml {
namespace {

constexpr std::array<const char*, 2> kRuleNames = {"cross_correlation", "uniform"};

void fill_uniform(std::vector<double>& weights) {
  std::fill(weights.begin(), weights.end(), 1.0 / static_cast<double>(weights.size()));
}

// weights_i = max(0, <global, cell_i>), normalised. True where nothing correlates and all weigh the
// same.
bool cross_correlation(const float* global, GridView grid, std::vector<double>& weights) {
  double sum = 0.0;
  for (std::size_t i = 0; i < grid.count; ++i) {
    double dot = 0.0;
    for (std::size_t d = 0; d < grid.dim; ++d) {
      dot += static_cast<double>(global[d]) * grid.at(i, d);
    }
    weights[i] = std::max(0.0, dot);
    sum += weights[i];
  }
  if (!(sum > kNoCorrelation)) {
    fill_uniform(weights);
    return true;
  }
  for (double& weight : weights) weight /= sum;
  return false;
}

}  // namespace

const char* name_of(MarginalRule rule) { return kRuleNames[static_cast<std::size_t>(rule)]; }

MarginalRule marginal_rule_from(std::string_view name) {
  for (std::size_t i = 0; i < kRuleNames.size(); ++i) {
    if (name == kRuleNames[i]) return static_cast<MarginalRule>(i);
  }
  throw Error("unknown marginals '" + std::string(name) + "': cross_correlation or uniform");
}

Marginals make_marginals(GridView source, GridView target, MarginalRule rule) {
  Marginals marginals{std::vector<double>(source.count), std::vector<double>(target.count), {}};
  if (rule == MarginalRule::uniform) {
    fill_uniform(marginals.source);
    fill_uniform(marginals.target);
    return marginals;
  }
  marginals.fallbacks.uniform_source = cross_correlation(target.global, source, marginals.source);
  marginals.fallbacks.uniform_target = cross_correlation(source.global, target, marginals.target);
  return marginals;
}

}  // namespace diml
