#pragma once

#include <cstddef>
#include <vector>

#include "models/architecture.h"

namespace diml {

// The part of the network that each operation belongs to: 0 for all up to the first tap, the stem,
// then one for each block, and what follows the last.
std::vector<std::size_t> parts_of(const Architecture& architecture);

}  // namespace diml
