#pragma once

#include <string>

#include "diml/error.h"

namespace diml {

// What every store says of a path that it has already, where that is not to be replaced.
[[noreturn]] inline void refuse_duplicate(const std::string& path) {
  throw Error(ErrorKind::conflict,
              path + ": is in the gallery already: replace it, or leave it out", "duplicates");
}

}  // namespace diml
