#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/stopwatch.h"

namespace diml::cli {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline double seconds_of(const std::function<void()>& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace diml::cli
