#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "diml/progress.h"

namespace diml {

// The limits of a JSON text from outside. The tree of a text takes far more memory than the text, and
// some operations take time that grows with the square of an object's names: so a text is checked
// before it is parsed.
struct JsonLimits {
  std::size_t depth = 16;                     // objects and lists within each other
  std::size_t names_of_object = 1024;         // of one object
  std::size_t names = 65'536;                 // of all objects
  std::size_t string = std::size_t{1} << 20;  // bytes of one string or name
  std::size_t values = 4'000'000;             // of all objects and lists
};

// Which limit the text breaks, to follow the name of the text: "is nested deeper than 16 levels".
// None where it keeps all of them. One pass that allocates nothing; it does not check whether the
// text is JSON. It can be cancelled.
std::optional<std::string> excess_of(std::string_view text, const JsonLimits& limits,
                                     const Progress& progress = {});

}  // namespace diml
