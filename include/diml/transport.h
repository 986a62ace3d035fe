#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "diml/marginals.h"

namespace diml {

enum class Solver : std::uint8_t {
  reference,  // Sinkhorn through logarithms, double, plain loops: never optimised, what the others
              // are proved against
  cpu,        // Sinkhorn in float32 SIMD
  exact,  // network simplex: the unregularised optimum; lambda, tolerance and max_iterations do not
          // apply
};

const char* name_of(Solver solver);
bool is_available(Solver solver);  // cpu needs Highway, exact needs LEMON at build time

struct TransportParams {
  Solver solver = Solver::reference;
  double lambda = 0.05;  // entropic regularisation; paper, appendix A. At least kSmallestLambda.
  double tolerance =
      1e-4;  // L1 marginal error below which a pair has converged; docs/decisions/0003
  int max_iterations = 1000;  // docs/decisions/0003
};

constexpr double kSmallestLambda = 1e-3;
constexpr int kMostIterations = 10'000'000;

// Throws on a lambda, tolerance or iteration count outside its range, or a solver that was not
// built.
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
  std::vector<double> mass;              // T, [rows, cols], sums to 1
  std::vector<double> target_potential;  // g, [cols]: lambda log b up to a constant; the dual the
                                         // bracket starts from
  int iterations = 0;
  double marginal_error = 0.0;  // sum_i |sum_j T_ij - mu_i|; the columns are met to rounding
  bool converged = false;
  bool log_domain = false;

  double operator()(std::size_t row, std::size_t col) const { return mass[row * cols + col]; }
};

// The plan that moves marginals.source (rows) onto marginals.target (columns) at least cost.
// cost: [R_s, R_t], finite.
TransportPlan solve(MatrixView cost, const Marginals& marginals,
                    const TransportParams& params = {});

// What the plan costs can be, for certain.
struct Bracket {
  double lower = 0.0;  // value of a feasible dual: no plan is cheaper
  double upper = 0.0;  // cost of a feasible plan, the given one rounded onto the marginals
  double gap() const { return upper - lower; }
};

// Brackets the least transport cost between the marginals, starting from a plan of any solver.
Bracket bracket_optimum(MatrixView cost, const Marginals& marginals, const TransportPlan& plan);

}  // namespace diml
