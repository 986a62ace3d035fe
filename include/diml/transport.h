#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "diml/marginals.h"

namespace diml {

// The implementation that matches pairs and solves the transport between their cells.
enum class Backend : std::uint8_t {
  fastest,    // "auto": cuda for batches where there is a GPU, else cpu, else reference
  reference,  // Sinkhorn through logarithms, double, plain loops: the definition that the others
              // are tested against
  cpu,        // Sinkhorn in float32 SIMD
  cuda,       // Sinkhorn on an NVIDIA GPU; only for batches of pairs
  exact,      // network simplex: the unregularised optimum; lambda, tolerance and max_iterations do
              // not apply
};

Backend backend_from(std::string_view name);
const char* name_of(Backend backend);
// cpu needs Highway and exact needs LEMON at build time; cuda needs a GPU as well.
bool is_available(Backend backend);
// What `fastest` means for one pair.
Backend fastest_of_one_pair();

struct TransportParams {
  // Of match() and solve(). A Matcher has its own.
  Backend backend = Backend::fastest;
  double lambda = 0.05;  // entropic regularisation; paper, appendix A. At least kSmallestLambda.
  // L1 marginal error below which a pair has converged, and the iterations after which it ends
  // all the same: docs/decisions/0003.
  double tolerance = 1e-4;
  int max_iterations = 1000;
  // Partial similarity: the share of the mass that is transported, the cheapest. No cell gives or
  // takes more than its weight; docs/decisions/0022. `cuda` transports all of it.
  double mass = 1.0;
};

constexpr double kSmallestLambda = 1e-3;
constexpr double kSmallestMass = 1e-2;
constexpr int kMostIterations = 10'000'000;

// Throws on a lambda, tolerance or iteration count outside its range.
void check_params(const TransportParams& params);

struct MatrixView {
  const double* data = nullptr;  // row-major
  std::size_t rows = 0;
  std::size_t cols = 0;

  double operator()(std::size_t row, std::size_t col) const { return data[row * cols + col]; }
};

struct TransportPlan {
  std::size_t rows = 0;                  // R_s
  std::size_t cols = 0;                  // R_t
  std::vector<double> mass;              // T, [rows, cols], sums to 1, or to the share
  std::vector<double> target_potential;  // g, [cols]: lambda log b up to a constant; the dual the
                                         // bracket starts from
  int iterations = 0;
  double marginal_error = 0.0;  // sum_i |sum_j T_ij - mu_i|; the columns are met to rounding
  bool converged = false;
  bool log_domain = false;
  Backend backend = Backend::reference;  // that solved it

  double operator()(std::size_t row, std::size_t col) const { return mass[row * cols + col]; }
};

// The plan that moves marginals.source (rows) onto marginals.target (columns), or params.mass of
// them, at least cost.
// cost: [R_s, R_t], finite.
TransportPlan solve(MatrixView cost, const Marginals& marginals,
                    const TransportParams& params = {});

// Certain bounds of the least transport cost.
struct Bracket {
  double lower = 0.0;  // value of a feasible dual: no plan is cheaper
  double upper = 0.0;  // cost of a feasible plan, the given one rounded onto the marginals
  double gap() const { return upper - lower; }
};

// Brackets the least cost of transporting `mass` between the marginals, starting from a plan of any
// solver.
Bracket bracket_optimum(MatrixView cost, const Marginals& marginals, const TransportPlan& plan,
                        double mass = 1.0);

}  // namespace diml
