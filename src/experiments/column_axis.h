#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/experiments.h"

namespace diml::experiments {

// The columns of a table as the horizontal axis of a plot. "K = 10" and "K = 10, cut" share a tick
// where both are columns; the second is a variant and has a line of its own.
struct ColumnAxis {
  struct Position {
    std::size_t tick;
    std::size_t variant;
  };

  std::string label;                      // "K" for "K = 10" and "K = 50"; may be empty
  std::vector<std::string> ticks;         // then "10" and "50"
  std::vector<std::string> variants{""};  // the first has no name
  std::vector<Position> positions;        // of each column
};

ColumnAxis column_axis_of(const std::vector<Column>& columns);

}  // namespace diml::experiments
