#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "diml/transport.h"

namespace diml {
namespace {

// A side in double that sums to 1 as nearly as double can: solvers in float32 leave it 1e-7 off,
// and a bound that multiplies it by potentials would be off with it.
std::vector<double> sums_to_one(std::vector<double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// The constant in g is free, and no good g varies by more than the costs do: values beyond that
// range, such as the -infinity of a target without mass, are clamped. So the sums stay accurate for
// any lambda.
void condition(MatrixView cost, std::vector<double>& g) {
  const auto [least, most] = std::minmax_element(cost.data, cost.data + cost.rows * cost.cols);
  const double largest = *std::max_element(g.begin(), g.end());
  for (double& value : g) value = std::max(value - largest, *least - *most);
}

// Two c-transforms make any g feasible: f_i = min_j C_ij - g_j, then g_j = min_i C_ij - f_i.
double feasible_dual(MatrixView cost, const Marginals& marginals, std::vector<double> g) {
  condition(cost, g);
  std::vector<double> f(cost.rows, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < cost.rows; ++i) {
    for (std::size_t j = 0; j < cost.cols; ++j) {
      f[i] = std::min(f[i], cost(i, j) - g[j]);
    }
  }
  double value = 0.0;
  for (std::size_t j = 0; j < cost.cols; ++j) {
    g[j] = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < cost.rows; ++i) g[j] = std::min(g[j], cost(i, j) - f[i]);
    value += g[j] * marginals.target[j];
  }
  for (std::size_t i = 0; i < cost.rows; ++i) value += f[i] * marginals.source[i];
  return value;
}

// Scales down rows and columns with too much mass, then adds the missing mass as a product
// (Altschuler, Weed, Rigollet 2017, algorithm 2). The result meets both marginals.
double rounded_cost(MatrixView cost, const Marginals& marginals, const TransportPlan& plan) {
  const std::size_t rows = cost.rows;
  const std::size_t cols = cost.cols;
  std::vector<double> mass = plan.mass;
  std::vector<double> missing_rows = marginals.source;
  std::vector<double> missing_cols = marginals.target;

  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < cols; ++j) sum += mass[i * cols + j];
    const double scale = sum > marginals.source[i] ? marginals.source[i] / sum : 1.0;
    for (std::size_t j = 0; j < cols; ++j) mass[i * cols + j] *= scale;
  }
  for (std::size_t j = 0; j < cols; ++j) {
    double sum = 0.0;
    for (std::size_t i = 0; i < rows; ++i) sum += mass[i * cols + j];
    const double scale = sum > marginals.target[j] ? marginals.target[j] / sum : 1.0;
    for (std::size_t i = 0; i < rows; ++i) mass[i * cols + j] *= scale;
    missing_cols[j] -= sum * scale;
  }
  double missing = 0.0;
  double value = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      missing_rows[i] -= mass[i * cols + j];
      value += mass[i * cols + j] * cost(i, j);
    }
    missing += missing_rows[i];
  }
  if (missing > 0.0) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        value += missing_rows[i] * missing_cols[j] / missing * cost(i, j);
      }
    }
  }
  return value;
}

// What rounding in double can do to the two sums, from above. With c = max |C|: potentials are at
// most 4 c, a c-transform rounds by eps 8 c, and a sum of n terms by n eps times the sum of their
// magnitudes, which is at most 4 c for the dual and c for the plan (weights and masses sum to 1).
struct Rounding {
  double dual = 0.0;
  double plan = 0.0;
};

Rounding rounding_of(MatrixView cost) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  double most = 0.0;
  for (std::size_t k = 0; k < cost.rows * cost.cols; ++k) {
    most = std::max(most, std::abs(cost.data[k]));
  }
  const auto rows = static_cast<double>(cost.rows);
  const auto cols = static_cast<double>(cost.cols);
  return {8.0 * (rows + cols + 8.0) * most * kEps, 4.0 * (rows * cols + 8.0) * most * kEps};
}

}  // namespace

Bracket bracket_optimum(MatrixView cost, const Marginals& marginals, const TransportPlan& plan) {
  const Marginals exact{sums_to_one(marginals.source), sums_to_one(marginals.target), {}};
  const Rounding rounding = rounding_of(cost);
  return {feasible_dual(cost, exact, plan.target_potential) - rounding.dual,
          rounded_cost(cost, exact, plan) + rounding.plan};
}

}  // namespace diml
