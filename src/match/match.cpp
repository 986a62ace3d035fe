#include "diml/match.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "diml/error.h"

#if DIML_HAS_SIMD
#include "cpu/cpu_solver.h"
#endif

namespace diml {
namespace {

std::vector<double> similarities(GridView source, GridView target) {
  std::vector<double> similarity(source.count * target.count);
  for (std::size_t i = 0; i < source.count; ++i) {
    for (std::size_t j = 0; j < target.count; ++j) {
      double dot = 0.0;
      for (std::size_t d = 0; d < source.dim; ++d) {
        dot += static_cast<double>(source.at(i, d)) * target.at(j, d);
      }
      similarity[i * target.count + j] = dot;
    }
  }
  return similarity;
}

// |source_i - target_j|, from the cells: sqrt(2 - 2 S) would lose half of the digits where it
// matters, near 0.
double distance_of(GridView source, std::size_t i, GridView target, std::size_t j) {
  double square = 0.0;
  for (std::size_t d = 0; d < source.dim; ++d) {
    const double difference = static_cast<double>(source.at(i, d)) - target.at(j, d);
    square += difference * difference;
  }
  return std::sqrt(square);
}

// Fills in what follows from S, the marginals and the plan.
void conclude(StructuralMatch& match, GridView source, GridView target, MatrixView cost,
              const MatchParams& params) {
  match.marginals.fallbacks.log_domain = match.plan.log_domain;
  for (std::size_t k = 0; k < match.similarity.size(); ++k) {
    match.score += match.plan.mass[k] * match.similarity[k];
    const std::size_t cols = match.plan.cols;
    match.distance += match.plan.mass[k] * distance_of(source, k / cols, target, k % cols);
  }
  if (params.certificate == Certificate::duality_gap) {
    match.bracket = bracket_optimum(cost, match.marginals, match.plan);
  }
}

}  // namespace

StructuralMatch match(GridView source, GridView target, const MatchParams& params) {
  check_params(params.transport);
  check_grid_shape(source.count, source.dim);
  check_grid_shape(target.count, target.dim);
  if (source.dim != target.dim) {
    throw Error("the source has " + std::to_string(source.dim) + "-d cells, the target " +
                std::to_string(target.dim) + "-d ones: embed both with one model");
  }
  StructuralMatch match;
#if DIML_HAS_SIMD
  if (params.transport.solver == Solver::cpu) {
    match = cpu::match_pair(source, target, params);
  }
#endif
  const bool solved = !match.plan.mass.empty();
  if (!solved) {
    match.similarity = similarities(source, target);
    match.marginals = make_marginals(source, target, params.marginals);
  }
  std::vector<double> cost(match.similarity.size());
  std::transform(match.similarity.begin(), match.similarity.end(), cost.begin(),
                 [](double s) { return 1.0 - s; });
  const MatrixView cost_view{cost.data(), source.count, target.count};
  if (!solved) {
    match.plan = solve(cost_view, match.marginals, params.transport);
  }
  conclude(match, source, target, cost_view, params);
  return match;
}

}  // namespace diml
