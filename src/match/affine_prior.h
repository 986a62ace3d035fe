#pragma once

#include <vector>

#include "diml/match.h"

namespace diml {

// One affine map that takes source cells to where the plan moves their mass: least squares over all
// pairs of cells, weighed by squared mass, and again with less weight for pairs far from the map,
// so that a background that moves otherwise does not decide. Reflections are maps like any other:
// birds look to the left and to the right.
PriorReport fit_affine(MatrixView plan, GridShape source, GridShape target);

// What the prior subtracts from the exponent of the kernel, - log of the Gaussian around the
// predicted places: [R_s, R_t]. Each row's least is 0; a constant in a row cancels in the plan.
std::vector<double> affine_penalties(const AffineMap& map, GridShape source, GridShape target,
                                     double sigma);

// The shape of a grid of that many cells. Throws where a prior needs it and none is given.
GridShape shape_for_prior(GridShape given, std::size_t cells, const char* side);

}  // namespace diml
