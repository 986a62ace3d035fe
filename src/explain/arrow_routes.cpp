#include "arrow_routes.h"

#include <algorithm>
#include <cmath>

#include "label_places.h"

namespace diml::explained {
namespace {

// The y of each arrow at its cell. cells[k] belongs to the arrow whose label is at labels[k].
std::vector<double> spread(const std::vector<Rectangle>& cells, const std::vector<double>& labels) {
  constexpr double kUsed = 0.68;  // of a cell's height
  std::vector<double> places(cells.size());
  for (std::size_t k = 0; k < cells.size(); ++k) {
    std::size_t before = 0;
    std::size_t in_row = 0;
    for (std::size_t other = 0; other < cells.size(); ++other) {
      if (std::abs(cells[other].y - cells[k].y) > 0.5 * cells[k].height) continue;
      ++in_row;
      before += labels[other] < labels[k] ? 1 : 0;
    }
    const double part = (static_cast<double>(before) + 0.5) / static_cast<double>(in_row);
    places[k] = cells[k].middle_y() + kUsed * cells[k].height * (part - 0.5);
  }
  return places;
}

}  // namespace

std::vector<Route> arrow_routes(const std::vector<RouteEnds>& ends, double pitch, double low,
                                double high) {
  std::vector<double> wanted;
  std::vector<Rectangle> from;
  std::vector<Rectangle> to;
  for (const RouteEnds& end : ends) {
    wanted.push_back((end.from.middle_y() + end.to.middle_y()) / 2.0);
    from.push_back(end.from);
    to.push_back(end.to);
  }
  const std::vector<double> labels = label_places(wanted, pitch, low, high);
  const std::vector<double> starts = spread(from, labels);
  const std::vector<double> stops = spread(to, labels);
  std::vector<Route> routes(ends.size());
  for (std::size_t k = 0; k < ends.size(); ++k) {
    routes[k] = {from[k].right(), starts[k], labels[k], to[k].x, stops[k]};
  }
  return routes;
}

}  // namespace diml::explained
