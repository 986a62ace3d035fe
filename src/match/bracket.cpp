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

// The dual of a part s of the mass: f, g <= 0 and h with f_i + g_j + h <= C_ij have the value
// sum f mu + sum g nu + s h. Whatever g is, the best h is the s-quantile of min_j C_ij - g_j.
double feasible_partial_dual(MatrixView cost, const Marginals& marginals, double mass,
                             std::vector<double> g) {
  condition(cost, g);  // the largest is 0 then, as in the optimum: some target is not used up
  std::vector<double> least(cost.rows, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < cost.rows; ++i) {
    for (std::size_t j = 0; j < cost.cols; ++j) least[i] = std::min(least[i], cost(i, j) - g[j]);
  }
  std::vector<std::size_t> order(cost.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return least[x] < least[y]; });
  double h = least[order.back()];
  double below = 0.0;
  for (const std::size_t i : order) {
    below += marginals.source[i];
    if (below < mass) continue;
    h = least[i];
    break;
  }
  double value = mass * h;
  std::vector<double> f(cost.rows);
  for (std::size_t i = 0; i < cost.rows; ++i) {
    f[i] = std::min(0.0, least[i] - h);
    value += f[i] * marginals.source[i];
  }
  for (std::size_t j = 0; j < cost.cols; ++j) {
    double most = 0.0;
    for (std::size_t i = 0; i < cost.rows; ++i) most = std::min(most, cost(i, j) - f[i] - h);
    value += most * marginals.target[j];
  }
  return value;
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
// (Altschuler, Weed, Rigollet 2017, algorithm 2). The result meets both marginals; for a part of the
// mass it stays below both and has that mass.
double rounded_cost(MatrixView cost, const Marginals& marginals, const TransportPlan& plan,
                    double total) {
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
  const double moved = 1.0 - missing;
  if (total < 1.0 && moved > total) return value * (total / moved);
  // Of what is missing to all of the mass, the share that is missing to the total.
  const double share = total < 1.0 ? (total - moved) / missing : 1.0;
  if (missing > 0.0) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        value += share * (missing_rows[i] * missing_cols[j] / missing) * cost(i, j);
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

Bracket bracket_optimum(MatrixView cost, const Marginals& marginals, const TransportPlan& plan,
                        double mass) {
  const Marginals exact{sums_to_one(marginals.source), sums_to_one(marginals.target), {}};
  const Rounding rounding = rounding_of(cost);
  const double upper = rounded_cost(cost, exact, plan, mass) + rounding.plan;
  if (mass < 1.0) {
    const double lower = feasible_partial_dual(cost, exact, mass, plan.target_potential);
    return {lower - 2.0 * rounding.dual, upper};
  }
  return {feasible_dual(cost, exact, plan.target_potential) - rounding.dual, upper};
}

}  // namespace diml
