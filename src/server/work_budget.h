#pragma once

#include <cstddef>

#include "service.h"

namespace diml::server {

// Steps of matching, at most: pairs x cells x cells x iterations. Where lambda is so small that
// pairs may be solved through logarithms, a step counts as many.
double steps_of_pair(std::size_t source_cells, std::size_t target_cells, const MatchParams& match,
                     Backend backend);

// Refusal 422, before anything is computed, where the pairs would take more steps than one request
// may; it says how many are allowed. what: "candidates", for the message.
void expect_affordable(const Service& service, std::size_t pairs, const MatchParams& match,
                       Backend backend, const char* what);

}  // namespace diml::server
