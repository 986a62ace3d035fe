#pragma once

#include <string>

namespace diml {

// A field of a CSV table (RFC 4180): with a comma, a quote or a line end it stands in quotes, its
// own quotes twice.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

}  // namespace diml
