#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "diml/server.h"

namespace diml::server {

enum class HttpVersion : std::uint8_t { http_1_0, http_1_1 };

// The request line and headers, checked. Stricter than HTTP: ambiguous heads are refused.
struct Head {
  std::string method;
  std::string target;
  HttpVersion version = HttpVersion::http_1_1;
  std::map<std::string, std::string> headers;  // names in lower case
  std::uint64_t content_length = 0;
  bool chunked = false;
  bool expects_continue = false;  // the client waits for 100 Continue before it sends the body
  bool keep_alive = true;         // what the client asks for; RequestParser decides

  std::string path() const { return target.substr(0, target.find('?')); }
  // The query string, decoded. Throws Refusal.
  std::map<std::string, std::string> query() const;
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  bool has_body() const { return chunked || content_length > 0; }
};

// A character of a method, of a header's name (RFC 9110, section 5.6.2).
bool is_token_character(char c);

// The name, in lower case, and the value of a line without its line end. Throws Refusal.
std::pair<std::string, std::string> header_of(std::string_view line);

// text: including the empty line. Throws Refusal.
Head parse_head(std::string_view text, const ServerLimits& limits);

}  // namespace diml::server
