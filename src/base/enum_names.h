#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diml/error.h"

namespace diml {

// The names of an enumeration whose values count from 0.
template <std::size_t N>
using EnumNames = std::array<const char*, N>;

template <typename Enum, std::size_t N>
const char* name_in(const EnumNames<N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// A name that no value has, with the names that there are.
class UnknownName : public Error {
 public:
  UnknownName(const std::string& line, std::vector<std::string> names)
      : Error(line), names_(std::move(names)) {}
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// Throws UnknownName, "unknown WHAT 'x': a, b or c", where none of them matches.
template <typename Enum, std::size_t N>
Enum value_in(const EnumNames<N>& names, std::string_view name, const char* what) {
  std::string known;
  for (std::size_t k = 0; k < N; ++k) {
    if (name == names[k]) return static_cast<Enum>(k);
    known.append(k == 0 ? "" : k + 1 < N ? ", " : " or ").append(names[k]);
  }
  throw UnknownName(std::string("unknown ") + what + " '" + std::string(name) + "': " + known,
                    {names.begin(), names.end()});
}

}  // namespace diml
