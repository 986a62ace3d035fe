#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diml::server {

// One part of a form: a file, or a field's text.
struct FormPart {
  std::string name;
  std::string filename;  // "" for fields
  std::string_view bytes;
};

constexpr std::size_t kMostParts = 256;

// A multipart/form-data body (RFC 7578). The parts are views into `body`. Throws Refusal 400.
std::vector<FormPart> parse_form(std::string_view content_type, std::string_view body);

}  // namespace diml::server
