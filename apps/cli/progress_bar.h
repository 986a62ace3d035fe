#pragma once

#include <string>

#include "diml/progress.h"

namespace diml::cli {

// A progress bar on standard error when that is a terminal, nothing elsewhere. The bar is erased
// when the work is done.
Progress progress_bar(std::string label);

}  // namespace diml::cli
