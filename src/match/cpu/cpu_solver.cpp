#include "cpu/cpu_solver.h"

#include "cpu/pair_kernel.h"

namespace diml::cpu {
namespace {

// One pair's results, before they become a StructuralMatch or a TransportPlan.
struct PairArrays {
  PairArrays(std::size_t rows, std::size_t cols)
      : plan(rows * cols), similarity(rows * cols), source(rows), target(cols), potential(cols) {
    output.plan = plan.data();
    output.similarity = similarity.data();
    output.source_marginal = source.data();
    output.target_marginal = target.data();
    output.target_potential = potential.data();
  }

  TransportPlan to_plan() const {
    return {source.size(),     target.size(),         {plan.begin(), plan.end()}, potential,
            output.iterations, output.marginal_error, output.converged,           output.wide};
  }

  std::vector<float> plan, similarity, source, target;
  std::vector<double> potential;
  PairOutput output;
};

}  // namespace

PairParams pair_params(const MatchParams& params) {
  return {params.marginals,
          static_cast<float>(params.transport.lambda),
          static_cast<float>(params.transport.tolerance),
          params.transport.max_iterations,
          static_cast<float>(1.0 - params.transport.mass),
          params.source_shape,
          params.target_shape};
}

TransportPlan sinkhorn(MatrixView cost, const Marginals& marginals, const TransportParams& params) {
  const std::vector<float> source(marginals.source.begin(), marginals.source.end());
  const std::vector<float> target(marginals.target.begin(), marginals.target.end());
  std::vector<float> similarity(cost.rows * cost.cols);
  for (std::size_t k = 0; k < similarity.size(); ++k) {
    similarity[k] = static_cast<float>(1.0 - cost.data[k]);
  }
  PairArrays arrays(cost.rows, cost.cols);
  PairWorkspace workspace;
  solve_similarity(similarity.data(), source.data(), target.data(), cost.rows, cost.cols,
                   pair_params({.transport = params}), workspace, arrays.output);
  if (!arrays.output.out_of_range) return arrays.to_plan();
  TransportParams slow = params;
  slow.backend = Backend::reference;
  TransportPlan plan = solve(cost, marginals, slow);
  plan.log_domain = true;
  return plan;
}

StructuralMatch match_pair(GridView source, GridView target, const MatchParams& params) {
  PairArrays arrays(source.count, target.count);
  PairWorkspace workspace;
  const PairTask task{source, target};
  match_pairs(&task, 1, pair_params(params), workspace, &arrays.output);
  StructuralMatch match;
  if (arrays.output.out_of_range) return match;
  match.similarity.assign(arrays.similarity.begin(), arrays.similarity.end());
  match.marginals.source.assign(arrays.source.begin(), arrays.source.end());
  match.marginals.target.assign(arrays.target.begin(), arrays.target.end());
  match.marginals.fallbacks = {arrays.output.uniform_source, arrays.output.uniform_target, false};
  match.plan = arrays.to_plan();
  return match;
}

}  // namespace diml::cpu
