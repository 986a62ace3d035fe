#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checked.h"

namespace diml::weights {

// Untrusted JSON. Throws if it is damaged, nested deeper than `most_depth`, or an object has a
// duplicate key, which would be ambiguous. Messages start with `what`.
nlohmann::json parse_json(Bytes text, int most_depth, const std::string& what);

// object[key]; throws if there is none.
const nlohmann::json& member(const nlohmann::json& object, const char* key,
                             const std::string& what);

std::string text_member(const nlohmann::json& object, const char* key, const std::string& what);

// A list of whole numbers from zero up: a shape, a pair of offsets.
std::vector<std::size_t> sizes_member(const nlohmann::json& object, const char* key,
                                      const std::string& what);

}  // namespace diml::weights
