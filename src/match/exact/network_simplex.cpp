#include "exact/network_simplex.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include "diml/error.h"

namespace diml::exact {
namespace {

// The simplex runs on integers, where it is exact and cannot cycle on rounding. The units are fine
// enough that the rounding is below 1e-12 of the mass and 1e-9 of the cost, and coarse enough for
// 64 bits.
constexpr std::int64_t kMassUnits = std::int64_t{1} << 44;
constexpr double kCostUnits = 0x1p32;  // of the largest cost, where that is above 1

// Rounds down to units and gives the units left over to the largest remainders, so that the sum is
// exact.
std::vector<std::int64_t> in_units(const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> units(weights.size());
  std::vector<double> remainder(weights.size());
  std::int64_t left = kMassUnits;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double scaled = weights[i] / total * static_cast<double>(kMassUnits);
    units[i] = static_cast<std::int64_t>(std::floor(scaled));
    remainder[i] = scaled - std::floor(scaled);
    left -= units[i];
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return remainder[x] > remainder[y]; });
  // Weights that sum to 1 only to rounding leave a few units more or fewer than there are cells.
  for (std::size_t next = 0; left != 0; next = (next + 1) % order.size()) {
    const std::int64_t step = left > 0 ? 1 : -1;
    if (units[order[next]] + step < 0) continue;
    units[order[next]] += step;
    left -= step;
  }
  return units;
}

}  // namespace

TransportPlan network_simplex(MatrixView cost, const Marginals& marginals) {
  using Graph = lemon::SmartDigraph;
  const std::size_t rows = cost.rows;
  const std::size_t cols = cost.cols;
  const std::vector<std::int64_t> supply = in_units(marginals.source);
  const std::vector<std::int64_t> demand = in_units(marginals.target);

  double largest = 1.0;
  for (std::size_t k = 0; k < rows * cols; ++k) {
    if (std::isfinite(cost.data[k])) largest = std::max(largest, std::abs(cost.data[k]));
  }
  // Where nothing may go: dearer than any detour through three other arcs.
  const double forbidden = 4.0 * largest;
  const double cost_units = kCostUnits / largest;

  Graph graph;
  graph.reserveNode(static_cast<int>(rows + cols));
  graph.reserveArc(static_cast<int>(rows * cols));
  for (std::size_t n = 0; n < rows + cols; ++n) graph.addNode();
  const auto node = [](std::size_t n) { return Graph::nodeFromId(static_cast<int>(n)); };
  Graph::NodeMap<std::int64_t> supplies(graph);
  for (std::size_t i = 0; i < rows; ++i) supplies[node(i)] = supply[i];
  for (std::size_t j = 0; j < cols; ++j) supplies[node(rows + j)] = -demand[j];
  Graph::ArcMap<std::int64_t> costs(graph);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      costs[graph.addArc(node(i), node(rows + j))] = std::llround(std::min(cost(i, j), forbidden) * cost_units);
    }
  }

  using Simplex = lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t>;
  Simplex simplex(graph);
  if (simplex.supplyMap(supplies).costMap(costs).run() != Simplex::OPTIMAL) {
    throw Error(ErrorKind::internal,
                "exact transport found no optimum: the marginals must be finite and sum to 1");
  }

  TransportPlan plan{
      rows, cols, std::vector<double>(rows * cols), std::vector<double>(cols), 0, 0.0, true, false};
  for (std::size_t i = 0; i < rows; ++i) {
    double row_sum = 0.0;
    for (std::size_t j = 0; j < cols; ++j) {
      const auto arc = Graph::arcFromId(static_cast<int>(i * cols + j));
      const double mass = static_cast<double>(simplex.flow(arc)) / static_cast<double>(kMassUnits);
      plan.mass[i * cols + j] = mass;
      row_sum += mass;
    }
    plan.marginal_error += std::abs(row_sum - marginals.source[i]);
  }
  // LEMON's reduced cost is c + pi(source) - pi(target): pi(target) is the dual g, up to a
  // constant.
  for (std::size_t j = 0; j < cols; ++j) {
    plan.target_potential[j] = static_cast<double>(simplex.potential(node(rows + j))) / cost_units;
  }
  return plan;
}

}  // namespace diml::exact
