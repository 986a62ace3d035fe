#pragma once

#include <functional>
#include <string>

#include "diml/progress.h"

namespace diml::cli {

// A progress bar on standard error when that is a terminal, nothing elsewhere. The bar is erased
// when the work is done.
Progress progress_bar(const std::string& label);

// The same for work that prints results meanwhile: erase() makes room for them.
struct ErasableBar {
  Progress progress{};
  std::function<void()> erase = [] {};
};
ErasableBar erasable_bar(const std::string& label);

}  // namespace diml::cli
