#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "call.h"
#include "head.h"

namespace diml::server {

// One request as its bytes arrive. Boost.Beast parses it, behind checks of our own; its headers
// are large, so only http_message.cpp includes them.
class RequestParser {
 public:
  explicit RequestParser(const ServerLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // text: up to and with the empty line. Throws Refusal.
  Head take_head(std::string_view text);
  // How many of these bytes belong to this request and were taken; the rest is to be given again,
  // with more behind it. Throws Refusal.
  std::size_t take_body(std::string_view bytes);

  bool is_whole() const;
  std::string take_text();  // of the body

 private:
  struct Beast;
  const ServerLimits& limits_;
  std::uint64_t taken_ = 0;  // of the body, with what chunks have around them
  std::unique_ptr<Beast> beast_;
};

enum class Afterwards { next_request, close };

// Status line and headers of an answer, with the empty line.
std::string head_of(const Reply& reply, HttpVersion version, Afterwards afterwards);

}  // namespace diml::server
