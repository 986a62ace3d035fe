#include "http_message.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>

#include "refusal.h"

namespace diml::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

// Headers of answers that no browser shows as a page; the page has its own policy. Answers are for
// this origin; CORS headers allow others to read them.
constexpr std::array<std::pair<const char*, const char*>, 5> kEveryAnswer = {{
    {"X-Content-Type-Options", "nosniff"},
    {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
}};

boost::asio::const_buffer buffer_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Head RequestParser::take_head(std::string_view text) {
  Head head = parse_head(text, limits_);
  // A head that either parser rejects is refused, so both agree on where the body ends.
  http::request_parser<http::empty_body> beast;
  beast.header_limit(static_cast<std::uint32_t>(limits_.head));
  beast.body_limit(limits_.body);
  beast.eager(false);
  error_code failed;
  const std::size_t taken = beast.put(buffer_of(text), failed);
  const std::uint64_t length =
      beast.is_header_done() && beast.content_length() ? *beast.content_length() : 0;
  if (failed || taken != text.size() || !beast.is_header_done() ||
      beast.chunked() != head.chunked || length != head.content_length) {
    throw Refusal(400, "the request is malformed" + (failed ? ": " + failed.message() : ""));
  }
  head.keep_alive = beast.keep_alive();
  chunked_ = head.chunked;
  left_ = head.content_length;
  has_head_ = true;
  return head;
}

std::size_t RequestParser::take_body(std::string_view bytes) {
  if (chunked_) return chunks_.take(bytes, body_);
  const std::size_t count = std::min<std::uint64_t>(left_, bytes.size());
  body_.append(bytes.substr(0, count));
  left_ -= count;
  return count;
}

bool RequestParser::is_whole() const {
  return has_head_ && left_ == 0 && (!chunked_ || chunks_.is_whole());
}

std::string head_of(const Reply& reply, HttpVersion version, Afterwards afterwards,
                    const std::string& request_id) {
  http::response<http::empty_body> response;
  response.version(version == HttpVersion::http_1_0 ? 10 : 11);
  response.result(static_cast<unsigned>(reply.status));
  for (const auto& [name, value] : kEveryAnswer) response.set(name, value);
  response.set("X-Request-Id", request_id);
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  // Answers of 204 and 304 have no body and no length.
  if (reply.status != 204 && reply.status != 304) {
    response.content_length(reply.body.size());
    response.set(http::field::content_type, reply.type);
  }
  response.keep_alive(afterwards == Afterwards::next_request);

  std::string text;
  http::response_serializer<http::empty_body> serializer(response);
  error_code failed;
  while (!failed && !serializer.is_done()) {
    serializer.next(failed, [&](error_code& passed, const auto& buffers) {
      passed = {};
      std::size_t bytes = 0;
      for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        text.append(static_cast<const char*>(buffer.data()), buffer.size());
        bytes += buffer.size();
      }
      serializer.consume(bytes);
    });
  }
  return text;
}

}  // namespace diml::server
