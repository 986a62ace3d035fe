#pragma once

#include <string>

#include "diml/experiments.h"

namespace diml::experiments {

// By the names of its fields. Unknown ones are answered with the nearest, values that make no
// sense with what would.
void set(Look& look, const std::string& name, const std::string& value);
// Throws where a value makes no sense: a network may take hours before it is looked at.
void check(const Look& look, Quantity quantity);
// Those that are set.
Settings settings_of(const Look& look);

}  // namespace diml::experiments
