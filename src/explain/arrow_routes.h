#pragma once

#include <vector>

#include "drawing.h"

namespace diml::explained {

// The way of an arrow: out of the right edge of a source cell, through its label in the column
// between the photos, to the left edge of a target cell. It is level at all four places.
struct Route {
  double x0 = 0.0;
  double y0 = 0.0;
  double label = 0.0;  // y of the label's middle
  double x1 = 0.0;
  double y1 = 0.0;
};

struct RouteEnds {
  Rectangle from;  // source cell
  Rectangle to;    // target cell
};

// One route for each pair of cells. Labels are `pitch` apart between `low` and `high`, in the order
// of the arrows' middles, which crosses few. Arrows that leave the same row of cells, or arrive in
// it, are spread over the row's height in the order of their labels: none runs on another.
std::vector<Route> arrow_routes(const std::vector<RouteEnds>& ends, double pitch, double low,
                                double high);

}  // namespace diml::explained
