#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diml {

// Inserted, deleted and changed letters, and neighbours that have changed places.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  // above, row: changes from the letters of `a` so far, and from one less, to the first k of `b`.
  std::vector<std::size_t> above;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> next(b.size() + 1, i + 1);
    for (std::size_t k = 0; k < b.size(); ++k) {
      next[k + 1] = std::min({row[k] + (a[i] == b[k] ? 0 : 1), row[k + 1] + 1, next[k] + 1});
      if (i > 0 && k > 0 && a[i] == b[k - 1] && a[i - 1] == b[k]) {
        next[k + 1] = std::min(next[k + 1], above[k - 1] + 1);
      }
    }
    above = std::move(row);
    row = std::move(next);
  }
  return row.back();
}

// Of a name with dots the last part counts too: people write `batch` for `sampler.batch`.
inline std::size_t name_distance(std::string_view name, std::string_view known) {
  const std::size_t whole = edit_distance(name, known);
  const std::size_t dot = known.rfind('.');
  if (dot == std::string_view::npos || name.find('.') != std::string_view::npos) return whole;
  return std::min(whole, edit_distance(name, known.substr(dot + 1)));
}

// The one of `known` that is nearest; the first of equals, "" where `known` is empty. For messages
// about mistyped names.
inline std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& each : known) {
    const std::size_t distance = name_distance(name, each);
    if (distance < least) {
      least = distance;
      nearest = each;
    }
  }
  return nearest;
}

// Whether a name may be mistyped for another: at most a third of its letters differ.
inline bool is_like(std::string_view name, std::string_view known) {
  return 3 * name_distance(name, known) <= name.size();
}

}  // namespace diml
