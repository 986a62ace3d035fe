#include "column_axis.h"

#include <algorithm>
#include <utility>

namespace diml::experiments {
namespace {

std::size_t index_in(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

// Tick and variant.
std::pair<std::string, std::string> split(const std::string& name,
                                          const std::vector<Column>& columns) {
  for (std::size_t comma = name.find(", "); comma != std::string::npos;
       comma = name.find(", ", comma + 1)) {
    const std::string tick = name.substr(0, comma);
    const bool is_column = std::any_of(columns.begin(), columns.end(),
                                       [&](const Column& each) { return each.name == tick; });
    if (is_column) return {tick, name.substr(comma + 2)};
  }
  return {name, ""};
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Moves what all ticks have before their first digit to the label.
void name_axis(ColumnAxis& axis) {
  const std::string first = axis.ticks.front();
  const auto start =
      static_cast<std::size_t>(std::find_if(first.begin(), first.end(), is_digit) - first.begin());
  for (const std::string& tick : axis.ticks) {
    if (tick.size() <= start || !is_digit(tick[start])) return;
    if (tick.compare(0, start, first, 0, start) != 0) return;
  }
  axis.label = first.substr(0, start);
  while (axis.label.ends_with(' ') || axis.label.ends_with('=')) axis.label.pop_back();
  for (std::string& tick : axis.ticks) tick.erase(0, start);
}

}  // namespace

ColumnAxis column_axis_of(const std::vector<Column>& columns) {
  ColumnAxis axis;
  for (const Column& column : columns) {
    const auto [tick, variant] = split(column.name, columns);
    axis.positions.push_back({index_in(axis.ticks, tick), index_in(axis.variants, variant)});
  }
  name_axis(axis);
  return axis;
}

}  // namespace diml::experiments
