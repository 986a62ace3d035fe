#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace diml {

// The place of an id among ascending ids; -1 where it is not one of them.
inline std::int64_t place_of(std::span<const std::int64_t> ids, std::int64_t id) {
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  return found != ids.end() && *found == id ? found - ids.begin() : -1;
}

}  // namespace diml
