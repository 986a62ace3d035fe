#pragma once

#include <functional>
#include <span>
#include <string>

#include "diml/network.h"

namespace diml {

// Gets the map after the stem ("stem") and after each block ("layer1.0"): [batch, height, width,
// channels]. For tests: it costs a copy of every map.
using Tap = std::function<void(const std::string& name, MapShape shape, std::span<const float>)>;

}  // namespace diml
