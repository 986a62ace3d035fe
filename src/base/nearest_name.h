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

// The one of `known` with the smallest edit distance (inserted, deleted and changed letters); the
// first of equals, "" where `known` is empty. For messages about mistyped names.
inline std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& each : known) {
    // row[k]: changes from the letters of `name` so far to the first k of `each`.
    std::vector<std::size_t> row(each.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (const char letter : name) {
      std::size_t diagonal = row[0]++;
      for (std::size_t k = 0; k < each.size(); ++k) {
        const std::size_t changed = diagonal + (letter == each[k] ? 0 : 1);
        diagonal = row[k + 1];
        row[k + 1] = std::min({changed, diagonal + 1, row[k] + 1});
      }
    }
    if (row.back() < least) {
      least = row.back();
      nearest = each;
    }
  }
  return nearest;
}

}  // namespace diml
