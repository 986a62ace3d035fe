#pragma once

#include <vector>

#include "diml/transport.h"

namespace diml {

// Transport of a share s of the mass as transport of all of it: one more cell on each side, which
// gives to, and takes from, the real cells of the other side the mass 1 - s that stays. Nothing
// goes from one such cell to the other, so that s goes between real ones. docs/decisions/0022.
struct WithSlack {
  WithSlack(MatrixView cost, const Marginals& marginals, double mass);

  MatrixView view() const { return {cost.data(), marginals.source.size(), marginals.target.size()}; }
  // The plan of the real cells, from the plan of all.
  TransportPlan without(const TransportPlan& plan) const;

  std::vector<double> cost;  // infinite where nothing may go
  Marginals marginals;       // sum to 1: in units of all mass that moves, 2 - s
  double unit = 1.0;
};

}  // namespace diml
