#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "diml/explain.h"
#include "drawing.h"

namespace diml::explained {

struct Side {
  double x0 = 0.0;
  double y0 = 0.0;
  double x1 = 0.0;
  double y1 = 0.0;
};

inline Rectangle cell_of(const Rectangle& area, GridShape shape, std::size_t cell) {
  const double width = area.width / static_cast<double>(shape.cols);
  const double height = area.height / static_cast<double>(shape.rows);
  return {area.x + width * static_cast<double>(cell % shape.cols),
          area.y + height * static_cast<double>(cell / shape.cols), width, height};
}

// The line around a group of cells, so far within them. cells: ascending.
inline std::vector<Side> region_outline(const Rectangle& area, GridShape shape,
                                        const std::vector<std::size_t>& cells, double inset) {
  const auto inside = [&](std::ptrdiff_t row, std::ptrdiff_t col) {
    const auto cols = static_cast<std::ptrdiff_t>(shape.cols);
    return row >= 0 && col >= 0 && row < static_cast<std::ptrdiff_t>(shape.rows) && col < cols &&
           std::binary_search(cells.begin(), cells.end(),
                              static_cast<std::size_t>(row * cols + col));
  };
  // How much later a side begins: the line turns inwards, turns outwards, or goes straight on.
  const auto later = [&](bool beside, bool corner) {
    return !beside ? inset : corner ? -inset : 0.0;
  };
  std::vector<Side> sides;
  for (const std::size_t cell : cells) {
    const auto row = static_cast<std::ptrdiff_t>(cell / shape.cols);
    const auto col = static_cast<std::ptrdiff_t>(cell % shape.cols);
    const Rectangle box = cell_of(area, shape, cell);
    for (const std::ptrdiff_t away : {-1, 1}) {
      if (!inside(row + away, col)) {
        const double y = away < 0 ? box.y + inset : box.bottom() - inset;
        sides.push_back({box.x + later(inside(row, col - 1), inside(row + away, col - 1)), y,
                         box.right() - later(inside(row, col + 1), inside(row + away, col + 1)),
                         y});
      }
      if (!inside(row, col + away)) {
        const double x = away < 0 ? box.x + inset : box.right() - inset;
        sides.push_back({x, box.y + later(inside(row - 1, col), inside(row - 1, col + away)), x,
                         box.bottom() - later(inside(row + 1, col), inside(row + 1, col + away))});
      }
    }
  }
  return sides;
}

}  // namespace diml::explained
