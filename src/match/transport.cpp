#include "diml/transport.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/enum_names.h"
#include "diml/error.h"
#include "match/backends.h"
#include "match/match_on_device.h"
#include "match/partial.h"
#include "reference/sinkhorn.h"

#if DIML_HAS_SIMD
#include "cpu/cpu_solver.h"
#endif
#if DIML_HAS_EXACT
#include "exact/network_simplex.h"
#endif

namespace diml {
namespace {

constexpr EnumNames<5> kBackends = {"auto", "reference", "cpu", "cuda", "exact"};

void check_marginal(const std::vector<double>& weights, const char* side) {
  constexpr double kLoose = 1e-3;  // accepts rounding errors, but not percentages
  double sum = 0.0;
  for (const double weight : weights) sum += weight >= 0.0 ? weight : std::nan("");
  if (!(std::abs(sum - 1.0) <= kLoose)) {
    throw Error(std::string("the ") + side +
                " marginal must hold weights of 0 or more that sum to 1");
  }
}

TransportPlan solved(MatrixView cost, const Marginals& marginals, const TransportParams& params,
                     Backend backend) {
  TransportPlan plan;
  switch (backend) {
#if DIML_HAS_SIMD
    case Backend::cpu:
      plan = cpu::sinkhorn(cost, marginals, params);
      break;
#endif
#if DIML_HAS_EXACT
    case Backend::exact:
      plan = exact::network_simplex(cost, marginals);
      break;
#endif
    default:
      plan = reference::sinkhorn(cost, marginals, params);
  }
  plan.backend = backend;
  return plan;
}

}  // namespace

Backend backend_from(std::string_view name) {
  return value_in<Backend>(kBackends, name, "matcher");
}

const char* name_of(Backend backend) { return name_in(kBackends, backend); }

bool is_available(Backend backend) {
  if (backend == Backend::cpu) return DIML_HAS_SIMD;
  if (backend == Backend::exact) return DIML_HAS_EXACT;
  if (backend == Backend::cuda) return cuda::is_available();
  return true;
}

Backend fastest_of_one_pair() { return DIML_HAS_SIMD ? Backend::cpu : Backend::reference; }

void expect_available(Backend backend) {
  if (is_available(backend)) return;
  if (backend == Backend::cuda) {
    throw Error(ErrorKind::unsupported, "no matcher 'cuda' here: " + cuda::describe_device());
  }
  throw Error(ErrorKind::unsupported,
              std::string("this build has no matcher '") + name_of(backend) + "': install " +
                  (backend == Backend::exact ? "liblemon-dev" : "libhwy-dev") + " and build again");
}

Backend backend_of_one_pair(Backend wanted) {
  if (wanted == Backend::cuda) {
    throw Error(ErrorKind::unsupported,
                "cuda matches batches of pairs: use a Matcher, or another backend for one pair",
                "matcher");
  }
  expect_available(wanted);
  return wanted == Backend::fastest ? fastest_of_one_pair() : wanted;
}

void check_params(const TransportParams& params) {
  if (!(params.lambda >= kSmallestLambda) || !std::isfinite(params.lambda)) {
    throw Error("lambda is " + std::to_string(params.lambda) +
                ": it must be at least 0.001 (0.05 is the paper's)");
  }
  if (!(params.tolerance > 0.0)) throw Error("tolerance must be above 0 (1e-4 is the default)");
  if (!(params.mass >= kSmallestMass && params.mass <= 1.0)) {
    throw Error("mass is " + std::to_string(params.mass) +
                ": the share that is transported is 0.01 to 1 (1 is all of it)");
  }
  if (params.max_iterations < 1 || params.max_iterations > kMostIterations) {
    throw Error("max_iterations must be 1 to " + std::to_string(kMostIterations));
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
  const Backend backend = backend_of_one_pair(params.backend);
  // The kernels of cpu have slack cells of their own.
  if (params.mass < 1.0 && backend != Backend::cpu) {
    const WithSlack whole(cost, marginals, params.mass);
    TransportParams own = params;
    own.mass = 1.0;
    own.tolerance /= whole.unit;
    TransportPlan plan = whole.without(solved(whole.view(), whole.marginals, own, backend));
    plan.converged = plan.marginal_error < params.tolerance;
    return plan;
  }
  return solved(cost, marginals, params, backend);
}

}  // namespace diml
