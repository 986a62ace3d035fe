#pragma once

#include "diml/explain.h"

namespace diml::explained {

// Fills in `pairs` and `weakest` from the matrices and the score.
void list_pairs(Explanation& explanation);

}  // namespace diml::explained
