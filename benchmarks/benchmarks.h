#pragma once

#include <vector>

#include "base/threads.h"

namespace diml::benchmarks {

// Registered at run time, not by static objects: the list depends on the machine and the build.
void register_match_benchmarks();
void register_first_stage_benchmarks();

// One thread, and all threads if there are more.
inline std::vector<int> thread_counts() {
  const int all = default_threads();
  return all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
}

}  // namespace diml::benchmarks
