#pragma once

#include "diml/matcher.h"
#include "diml/transport.h"

namespace diml {

// Throws, with the remedy, where the backend cannot be used here.
void expect_available(Backend backend);

// The backend that match() and solve() use: `fastest` resolved. Throws where it cannot match one
// pair.
Backend backend_of_one_pair(Backend wanted);

// match(); for the similarity alone without the distance, which costs more than all else where
// cells have many dimensions.
StructuralMatch match_for(Quantity quantity, GridView source, GridView target,
                          const MatchParams& params);

}  // namespace diml
