#pragma once

#include <string>

#include "diml/experiments.h"

namespace diml::experiments {

// By the names of its fields. Unknown ones are answered with the nearest, values that make no
// sense with what would.
void set(Look& look, const std::string& name, const std::string& value);
// Those that are set.
Settings settings_of(const Look& look);

}  // namespace diml::experiments
