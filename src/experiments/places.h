#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diml/experiments.h"

namespace diml::experiments {

// Where the columns of a table stand on an axis. "K = 10" and "K = 10, cut" share a place, as both
// are columns: the second is a variant, with a line of its own.
struct Places {
  struct Spot {
    std::size_t place;
    std::size_t variant;
  };

  std::string axis;                       // "K" of "K = 10" and "K = 50"; may be empty
  std::vector<std::string> names;         // then "10" and "50"
  std::vector<std::string> variants{""};  // the first has no name
  std::vector<Spot> spots;                // of each column
};

Places places_of(const std::vector<Column>& columns);

}  // namespace diml::experiments
