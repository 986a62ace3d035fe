#pragma once

#include <nlohmann/json.hpp>

#include "diml/explain.h"

namespace diml {

// The explanation as JSON, for `diml explain`, the server and the page. docs/explain.md has the
// fields.
nlohmann::ordered_json json_of(const Explanation& explanation, std::size_t most_pairs = kAllPairs);

}  // namespace diml
