#pragma once

#include "cpu/pair_kernel.h"
#include "diml/match.h"

namespace diml::cpu {

PairParams pair_params(const MatchParams& params);

TransportPlan sinkhorn(MatrixView cost, const Marginals& marginals, const TransportParams& params);

// S, marginals and plan; an empty plan where double is too narrow for the pair.
StructuralMatch match_pair(GridView source, GridView target, const MatchParams& params);

}  // namespace diml::cpu
