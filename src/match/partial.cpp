#include "partial.h"

#include <algorithm>
#include <limits>

namespace diml {

WithSlack::WithSlack(MatrixView real, const Marginals& of_real, double mass)
    : marginals(of_real), unit(2.0 - mass) {
  // What a slack cell costs changes nothing: the mass that it moves is fixed. A cost among the
  // others keeps solvers within their range.
  const auto [least, most] = std::minmax_element(real.data, real.data + real.rows * real.cols);
  const double middle = 0.5 * (*least + *most);
  cost.assign((real.rows + 1) * (real.cols + 1), middle);
  for (std::size_t i = 0; i < real.rows; ++i) {
    const auto row = cost.begin() + static_cast<std::ptrdiff_t>(i * (real.cols + 1));
    std::copy_n(real.data + i * real.cols, real.cols, row);
  }
  cost.back() = std::numeric_limits<double>::infinity();
  for (std::vector<double>* side : {&marginals.source, &marginals.target}) {
    side->push_back(1.0 - mass);
    for (double& weight : *side) weight /= unit;
  }
}

TransportPlan WithSlack::without(const TransportPlan& plan) const {
  TransportPlan real = plan;
  real.rows = plan.rows - 1;
  real.cols = plan.cols - 1;
  real.mass.clear();
  for (std::size_t i = 0; i < real.rows; ++i) {
    for (std::size_t j = 0; j < real.cols; ++j) real.mass.push_back(unit * plan(i, j));
  }
  real.target_potential.resize(real.cols);
  real.marginal_error = unit * plan.marginal_error;
  return real;
}

}  // namespace diml
