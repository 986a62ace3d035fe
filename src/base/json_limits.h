#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "diml/progress.h"

namespace diml {

// What a JSON text from outside may have. Trees take far more memory than their text, and some
// take time that grows with the square of an object's names: texts are looked at before.
struct JsonLimits {
  std::size_t depth = 16;                     // objects and lists within each other
  std::size_t names_of_object = 1024;         // of one object
  std::size_t names = 65'536;                 // of all objects
  std::size_t string = std::size_t{1} << 20;  // bytes of one string or name
  std::size_t values = 4'000'000;             // of all objects and lists
};

// What the text has too much of, to follow the name of the text: "is nested deeper than 16 levels".
// None where it keeps the limits. One pass without memory of its own; whether the text is JSON is
// left to its reader. Cancelled: as if nothing were too much.
std::optional<std::string> excess_of(std::string_view text, const JsonLimits& limits,
                                     const Progress& progress = {});

}  // namespace diml
