#pragma once

#include <cstdlib>
#include <string>

#include "diml/error.h"

namespace diml {

// "" where it is not set.
inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline std::size_t number_in(const char* name) {
  const std::string text = variable(name);
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    throw Error(std::string(name) + " is '" + text + "', not a number: correct or unset it");
  }
  return value;
}

}  // namespace diml
