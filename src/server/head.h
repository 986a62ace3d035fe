#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "diml/server.h"

namespace diml::server {

// The request line and headers, looked at before the HTTP library sees them: of that the versions
// in use parse some headers by recursion, unpack bodies without a bound, and read an endless one.
struct Head {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::uint64_t content_length = 0;
  bool chunked = false;
  std::string text;  // what the HTTP library gets

  std::string path() const { return target.substr(0, target.find('?')); }
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  bool has_body() const { return chunked || content_length > 0; }
};

// The header under which the library, and whoever reads its requests, finds the type of the body.
// Under its own name the library would take forms apart itself.
constexpr const char* kBodyType = "Diml-Content-Type";

// text: up to and with the empty line. Throws Refusal.
Head parse_head(std::string_view text, const ServerLimits& limits);

}  // namespace diml::server
