#include "reference/sinkhorn.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace diml::reference {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();  // log 0: a cell without mass

double log_sum_exp(const std::vector<double>& terms) {
  const double largest = *std::max_element(terms.begin(), terms.end());
  if (largest == kNothing) return kNothing;
  double sum = 0.0;
  for (const double term : terms) sum += std::exp(term - largest);
  return largest + std::log(sum);
}

double log_of(double weight) { return weight > 0.0 ? std::log(weight) : kNothing; }

}  // namespace

// Sinkhorn's scalings a = mu / K b and b = nu / K^T a through their logarithms f = log a, g = log
// b, so that no lambda underflows.
TransportPlan sinkhorn(MatrixView cost, const Marginals& marginals, const TransportParams& params) {
  const std::size_t rows = cost.rows;
  const std::size_t cols = cost.cols;
  std::vector<double> f(rows, 0.0);
  std::vector<double> g(cols, 0.0);
  TransportPlan plan{rows, cols, std::vector<double>(rows * cols), {}, 0, 0.0, false, false};

  std::vector<double> over_cols(cols);
  std::vector<double> over_rows(rows);
  while (plan.iterations < params.max_iterations && !plan.converged) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) over_cols[j] = g[j] - cost(i, j) / params.lambda;
      f[i] = log_of(marginals.source[i]) - log_sum_exp(over_cols);
    }
    for (std::size_t j = 0; j < cols; ++j) {
      for (std::size_t i = 0; i < rows; ++i) over_rows[i] = f[i] - cost(i, j) / params.lambda;
      g[j] = log_of(marginals.target[j]) - log_sum_exp(over_rows);
    }
    ++plan.iterations;

    plan.marginal_error = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {
      double row_sum = 0.0;
      for (std::size_t j = 0; j < cols; ++j) {
        const double mass = std::exp(f[i] + g[j] - cost(i, j) / params.lambda);
        plan.mass[i * cols + j] = mass;
        row_sum += mass;
      }
      plan.marginal_error += std::abs(row_sum - marginals.source[i]);
    }
    plan.converged = plan.marginal_error < params.tolerance;
  }

  plan.target_potential.resize(cols);
  for (std::size_t j = 0; j < cols; ++j) plan.target_potential[j] = params.lambda * g[j];
  return plan;
}

}  // namespace diml::reference
