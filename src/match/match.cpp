#include "diml/match.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "diml/error.h"
#include "match/affine_prior.h"
#include "match/backends.h"
#include "match/cell_places.h"

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

std::vector<double> costs(const std::vector<double>& similarity) {
  std::vector<double> cost(similarity.size());
  std::transform(similarity.begin(), similarity.end(), cost.begin(),
                 [](double s) { return 1.0 - s; });
  return cost;
}

Marginals marginals_of(GridView source, GridView target, const MatchParams& params) {
  return make_marginals(source, target, params.marginals, params.source_shape,
                        params.target_shape);
}

// Of the problem in double, whatever solved it: the costs and weights of a solver in float32 are up
// to 1e-7 off, and bounds that start from them can miss the optimum by as much.
Bracket certify(GridView source, GridView target, const MatchParams& params,
                const TransportPlan& plan) {
  const std::vector<double> cost = costs(similarities(source, target));
  return bracket_optimum({cost.data(), source.count, target.count},
                         marginals_of(source, target, params), plan, params.transport.mass);
}

// Solves again with what is expected of the plan, each time fitted to the plan before it. A fit
// that is not to be trusted leaves the plan without a prior, and the report says why.
void add_affine_prior(StructuralMatch& match, const MatchParams& params) {
  const std::size_t rows = match.plan.rows;
  const std::size_t cols = match.plan.cols;
  const GridShape source = shape_for_prior(params.source_shape, rows, "source");
  const GridShape target = shape_for_prior(params.target_shape, cols, "target");
  TransportParams transport = params.transport;
  transport.backend = match.plan.backend;
  TransportPlan plan = match.plan;
  std::vector<double> cost(match.similarity.size());
  int solved = 0;
  for (int round = 0; round < params.affine.rounds; ++round) {
    match.prior = fit_affine({plan.mass.data(), rows, cols}, source, target);
    if (!match.prior->trusted()) return;
    // lambda times the penalty: in the kernel's exponent it does not depend on lambda.
    const std::vector<double> penalties =
        affine_penalties(match.prior->map, source, target, params.affine.sigma);
    for (std::size_t k = 0; k < cost.size(); ++k) {
      cost[k] = 1.0 - match.similarity[k] + transport.lambda * penalties[k];
    }
    const int before = plan.iterations;
    plan = solve({cost.data(), rows, cols}, match.marginals, transport);
    plan.iterations += before;
    match.prior->rounds = ++solved;
  }
  match.plan = std::move(plan);
}

// Computes the results that follow from S, the marginals and the plan.
void conclude(StructuralMatch& match, GridView source, GridView target, const MatchParams& params,
              Quantity quantity) {
  match.marginals.fallbacks.log_domain = match.plan.log_domain;
  for (std::size_t k = 0; k < match.similarity.size(); ++k) {
    match.score += match.plan.mass[k] * match.similarity[k];
    if (quantity == Quantity::similarity) continue;
    const std::size_t cols = match.plan.cols;
    match.distance += match.plan.mass[k] * distance_of(source, k / cols, target, k % cols);
  }
  if (params.certificate == Certificate::duality_gap) {
    match.bracket = certify(source, target, params, match.plan);
  }
}

}  // namespace

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
  throw Error("the weights of the two similarities must be 0 or more, and one above 0");
}

StructuralMatch match(GridView source, GridView target, const MatchParams& params) {
  return match_for(Quantity::distance, source, target, params);
}

StructuralMatch match_for(Quantity quantity, GridView source, GridView target,
                          const MatchParams& params) {
  check_params(params.transport);
  check_prior(params, backend_of_one_pair(params.transport.backend));
  check_marginals_and_mass(params, backend_of_one_pair(params.transport.backend));
  check_grid_shape(source.count, source.dim);
  check_grid_shape(target.count, target.dim);
  if (source.dim != target.dim) {
    throw Error("the source has " + std::to_string(source.dim) + "-d cells, the target " +
                std::to_string(target.dim) + "-d ones: embed both with one model");
  }
  StructuralMatch match;
#if DIML_HAS_SIMD
  if (backend_of_one_pair(params.transport.backend) == Backend::cpu) {
    match = cpu::match_pair(source, target, params);
    match.plan.backend = Backend::cpu;
  }
#endif
  if (match.plan.mass.empty()) {
    match.similarity = similarities(source, target);
    match.marginals = marginals_of(source, target, params);
    const std::vector<double> cost = costs(match.similarity);
    match.plan =
        solve({cost.data(), source.count, target.count}, match.marginals, params.transport);
  }
  if (params.prior == Prior::affine) add_affine_prior(match, params);
  conclude(match, source, target, params, quantity);
  return match;
}

}  // namespace diml
