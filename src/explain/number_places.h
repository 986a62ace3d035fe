#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "drawing.h"

namespace diml::explained {

constexpr double kSpaceBetweenNumbers = 0.6;

// Each box goes, in the order given, to the free place nearest to where it stands. None where a box
// finds no free place.
inline std::optional<std::vector<Rectangle>> pushed_greedily(std::vector<Rectangle> boxes,
                                                             const Rectangle& area) {
  constexpr double kSpace = kSpaceBetweenNumbers;
  const auto is_free = [&](const Rectangle& box, std::size_t placed) {
    return std::none_of(boxes.begin(), boxes.begin() + static_cast<std::ptrdiff_t>(placed),
                        [&](const Rectangle& other) {
                          constexpr double kRounding = 1e-9;
                          const double gap = kSpace - kRounding;
                          return box.x < other.right() + gap && other.x < box.right() + gap &&
                                 box.y < other.bottom() + gap && other.y < box.bottom() + gap;
                        });
  };
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Rectangle& box = boxes[i];
    const double last_x = std::max(area.x, area.right() - box.width);
    const double last_y = std::max(area.y, area.bottom() - box.height);
    box.x = std::clamp(box.x, area.x, last_x);
    box.y = std::clamp(box.y, area.y, last_y);
    // The nearest free place touches another box, or shares a coordinate with the wanted one.
    std::vector<double> xs = {box.x};
    std::vector<double> ys = {box.y};
    for (std::size_t j = 0; j < i; ++j) {
      xs.push_back(boxes[j].x - kSpace - box.width);
      xs.push_back(boxes[j].right() + kSpace);
      ys.push_back(boxes[j].y - kSpace - box.height);
      ys.push_back(boxes[j].bottom() + kSpace);
    }
    std::optional<Rectangle> best;
    double nearest = std::numeric_limits<double>::infinity();
    for (const double x : xs) {
      for (const double y : ys) {
        if (x < area.x || x > last_x || y < area.y || y > last_y) continue;
        const double away = (x - box.x) * (x - box.x) + (y - box.y) * (y - box.y);
        const Rectangle there{x, y, box.width, box.height};
        if (away < nearest && is_free(there, i)) {
          nearest = away;
          best = there;
        }
      }
    }
    if (!best) return std::nullopt;
    box = *best;
  }
  return boxes;
}

// Each box goes, in the order given, to the nearest free slot of a raster that fills the area. A
// raster wastes no room, so it holds boxes that the free choice of places does not.
inline std::optional<std::vector<Rectangle>> pushed_into_slots(std::vector<Rectangle> boxes,
                                                               const Rectangle& area) {
  double wide = 0.0;
  double high = 0.0;
  for (const Rectangle& box : boxes) {
    wide = std::max(wide, box.width + kSpaceBetweenNumbers);
    high = std::max(high, box.height + kSpaceBetweenNumbers);
  }
  const auto columns = static_cast<std::size_t>((area.width + kSpaceBetweenNumbers) / wide);
  const auto rows = static_cast<std::size_t>((area.height + kSpaceBetweenNumbers) / high);
  if (columns * rows < boxes.size()) return std::nullopt;
  std::vector<bool> taken(columns * rows, false);
  for (Rectangle& box : boxes) {
    std::size_t best = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t slot = 0; slot < taken.size(); ++slot) {
      if (taken[slot]) continue;
      const double x = area.x + wide * static_cast<double>(slot % columns);
      const double y = area.y + high * static_cast<double>(slot / columns);
      const double away = (x - box.x) * (x - box.x) + (y - box.y) * (y - box.y);
      if (away < nearest) {
        nearest = away;
        best = slot;
      }
    }
    taken[best] = true;
    box.x = area.x + wide * static_cast<double>(best % columns);
    box.y = area.y + high * static_cast<double>(best / columns);
  }
  return boxes;
}

// Boxes inside an area that do not overlap, near to where they stand. None where the area has no
// room for all.
inline std::optional<std::vector<Rectangle>> pushed_apart(const std::vector<Rectangle>& boxes,
                                                          const Rectangle& area) {
  if (boxes.empty()) return boxes;
  const auto places = pushed_greedily(boxes, area);
  return places ? places : pushed_into_slots(boxes, area);
}

}  // namespace diml::explained
