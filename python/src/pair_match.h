#pragma once

#include "diml/match.h"
#include "grids.h"

namespace diml::python {

// One pair in full, with the grids that it was made of.
struct PairMatch {
  std::shared_ptr<Grids> source;
  std::shared_ptr<Grids> target;
  MatchParams params;
  StructuralMatch result;

  py::array_t<double> matrix(const std::vector<double>& values) const;  // [R_s, R_t]
  // Computed when it is asked for: it costs more than the match.
  double gap() const;
};

// Of the first grid of each. The caller holds the GIL.
PairMatch matched(std::shared_ptr<Grids> source, std::shared_ptr<Grids> target,
                  const MatchParams& params);

}  // namespace diml::python
