#pragma once

#include <string>

#include "diml/threads.h"

namespace diml::cli {

// A progress bar on standard error when that is a terminal, nothing elsewhere. The bar goes when
// the work is done.
Progress progress_bar(std::string label);

}  // namespace diml::cli
