#pragma once

#include <algorithm>
#include <vector>

namespace diml::cli {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace diml::cli
