#include "diml/transport.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "diml/error.h"
#include "reference/sinkhorn.h"

#if DIML_HAS_SIMD
#include "cpu/cpu_solver.h"
#endif
#if DIML_HAS_EXACT
#include "exact/network_simplex.h"
#endif

namespace diml {
namespace {

constexpr std::array<const char*, 3> kSolverNames = {"reference", "cpu", "exact"};

void check_marginal(const std::vector<double>& weights, const char* side) {
  constexpr double kLoose = 1e-3;  // rounding is fine, another unit is not
  double sum = 0.0;
  for (const double weight : weights) sum += weight >= 0.0 ? weight : std::nan("");
  if (!(std::abs(sum - 1.0) <= kLoose)) {
    throw Error(std::string("the ") + side + " marginal must hold weights from 0 up that sum to 1");
  }
}

}  // namespace

const char* name_of(Solver solver) { return kSolverNames[static_cast<std::size_t>(solver)]; }

bool is_available(Solver solver) {
  if (solver == Solver::cpu) return DIML_HAS_SIMD;
  if (solver == Solver::exact) return DIML_HAS_EXACT;
  return true;
}

void check_params(const TransportParams& params) {
  if (!(params.lambda >= kSmallestLambda) || !std::isfinite(params.lambda)) {
    throw Error("lambda is " + std::to_string(params.lambda) +
                ": it must be at least 0.001 (0.05 is the paper's)");
  }
  if (!(params.tolerance > 0.0)) throw Error("tolerance must be above 0 (1e-4 is the default)");
  if (params.max_iterations < 1 || params.max_iterations > kMostIterations) {
    throw Error("max_iterations must be 1 to " + std::to_string(kMostIterations));
  }
  if (!is_available(params.solver)) {
    throw Error(ErrorKind::unsupported,
                std::string("the ") + name_of(params.solver) + " solver was built without " +
                    (params.solver == Solver::exact ? "LEMON: install liblemon-dev"
                                                    : "Highway: install libhwy-dev") +
                    " and build again");
  }
}

TransportPlan solve(MatrixView cost, const Marginals& marginals, const TransportParams& params) {
  check_params(params);
  if (marginals.source.size() != cost.rows || marginals.target.size() != cost.cols) {
    throw Error("the cost is " + std::to_string(cost.rows) + " x " + std::to_string(cost.cols) +
                ", the marginals " + std::to_string(marginals.source.size()) + " and " +
                std::to_string(marginals.target.size()) + ": rows are source, columns target");
  }
  if (!std::all_of(cost.data, cost.data + cost.rows * cost.cols,
                   [](double value) { return std::isfinite(value); })) {
    throw Error("a cost is NaN or infinite");
  }
  check_marginal(marginals.source, "source");
  check_marginal(marginals.target, "target");
  switch (params.solver) {
#if DIML_HAS_SIMD
    case Solver::cpu:
      return cpu::sinkhorn(cost, marginals, params);
#endif
#if DIML_HAS_EXACT
    case Solver::exact:
      return exact::network_simplex(cost, marginals);
#endif
    default:
      return reference::sinkhorn(cost, marginals, params);
  }
}

}  // namespace diml
