#pragma once

#include "diml/explain.h"

namespace diml::explained {

constexpr std::size_t kMostRegions = 6;

// Fills in `regions` and `scattered` from the matrices and the score. Source cells that touch and
// that send their mass to similar places are joined until kMostRegions groups are left: each time
// the two whose joining loses least information about where the mass goes. The target side of a
// group is a connected set of cells that receives most of what the group contributes.
void find_regions(Explanation& explanation);

}  // namespace diml::explained
