#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "diml/server.h"

namespace diml::server {

enum class HttpVersion : std::uint8_t { http_1_0, http_1_1 };

// The request line and headers, checked. Stricter than HTTP: what two readers could understand in
// two ways is refused.
struct Head {
  std::string method;
  std::string target;
  HttpVersion version = HttpVersion::http_1_1;
  std::map<std::string, std::string> headers;  // names in lower case
  std::uint64_t content_length = 0;
  bool chunked = false;
  bool expects_continue = false;  // the client waits for a word before it sends the body
  bool keep_alive = true;         // as far as the client is concerned; RequestParser knows

  std::string path() const { return target.substr(0, target.find('?')); }
  // What stands behind the question mark, decoded. Throws Refusal.
  std::map<std::string, std::string> query() const;
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  bool has_body() const { return chunked || content_length > 0; }
};

// text: up to and with the empty line. Throws Refusal.
Head parse_head(std::string_view text, const ServerLimits& limits);

}  // namespace diml::server
