#pragma once

#include <cstddef>
#include <vector>

#include "diml/marginals.h"
#include "match/backends.h"

namespace diml {

// Weights of cells that depend on their places alone, before normalisation; empty where the rule
// has none. shape: of the cells, empty for shape_of_cells(count).
std::vector<float> weights_by_place(MarginalRule rule, std::size_t count, GridShape shape);

// Throws where a backend has no such marginals or transports no part of the mass.
void check_marginals_and_mass(const MatchParams& params, Backend backend);

}  // namespace diml
