#pragma once

#include <string>

#include "diml/searcher.h"

namespace diml::cli {

// Why no image satisfies the conditions, where a label or a field is not there at all: ": there is
// no label pug, the nearest is pugs". Else "".
std::string hint_of_conditions(const Filter& filter, const GridSnapshot& snapshot);

}  // namespace diml::cli
