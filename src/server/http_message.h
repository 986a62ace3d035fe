#pragma once

#include <string>
#include <string_view>

#include "call.h"
#include "chunks.h"
#include "head.h"

namespace diml::server {

// One request as its bytes arrive. Boost.Beast parses the head after our own checks; its headers
// are large, so only http_message.cpp includes them. Bodies are ours: Beast takes chunks that the
// RFC does not allow.
class RequestParser {
 public:
  explicit RequestParser(const ServerLimits& limits) : limits_(limits), chunks_(limits) {}
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // text: including the empty line. Throws Refusal.
  Head take_head(std::string_view text);
  // Returns how many of these bytes it has consumed: all of them, unless the body ends before.
  // Throws Refusal; the request is never whole after that.
  std::size_t take_body(std::string_view bytes);

  // Whether the whole request was taken: what follows is another one.
  bool is_whole() const;
  std::string take_text() { return std::move(body_); }

 private:
  const ServerLimits& limits_;
  bool has_head_ = false;
  bool chunked_ = false;
  std::uint64_t left_ = 0;  // of a body with a length
  ChunkReader chunks_;
  std::string body_;
};

enum class Afterwards { next_request, close };

// Status line and headers of an answer, including the empty line. Every answer has the headers that
// keep pages of other sites from using it.
std::string head_of(const Reply& reply, HttpVersion version, Afterwards afterwards,
                    const std::string& request_id);

}  // namespace diml::server
