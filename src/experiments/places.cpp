#include "places.h"

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

// Place and variant.
std::pair<std::string, std::string> split(const std::string& name,
                                          const std::vector<Column>& columns) {
  for (std::size_t comma = name.find(", "); comma != std::string::npos;
       comma = name.find(", ", comma + 1)) {
    const std::string place = name.substr(0, comma);
    const bool is_column = std::any_of(columns.begin(), columns.end(),
                                       [&](const Column& each) { return each.name == place; });
    if (is_column) return {place, name.substr(comma + 2)};
  }
  return {name, ""};
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// What all names begin with, before a digit, goes to the axis.
void name_axis(Places& places) {
  const std::string first = places.names.front();
  const auto start =
      static_cast<std::size_t>(std::find_if(first.begin(), first.end(), is_digit) - first.begin());
  for (const std::string& name : places.names) {
    if (name.size() <= start || !is_digit(name[start])) return;
    if (name.compare(0, start, first, 0, start) != 0) return;
  }
  places.axis = first.substr(0, start);
  while (places.axis.ends_with(' ') || places.axis.ends_with('=')) places.axis.pop_back();
  for (std::string& name : places.names) name.erase(0, start);
}

}  // namespace

Places places_of(const std::vector<Column>& columns) {
  Places places;
  for (const Column& column : columns) {
    const auto [place, variant] = split(column.name, columns);
    places.spots.push_back({index_in(places.names, place), index_in(places.variants, variant)});
  }
  name_axis(places);
  return places;
}

}  // namespace diml::experiments
