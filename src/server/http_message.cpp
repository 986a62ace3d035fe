#include "http_message.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>

#include "refusal.h"

namespace diml::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

boost::asio::const_buffer buffer_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct RequestParser::Beast {
  http::request_parser<http::string_body> parser;
};

RequestParser::RequestParser(const ServerLimits& limits)
    : limits_(limits), beast_(std::make_unique<Beast>()) {
  beast_->parser.header_limit(static_cast<std::uint32_t>(limits.head));
  beast_->parser.body_limit(limits.body);
}

RequestParser::~RequestParser() = default;

Head RequestParser::take_head(std::string_view text) {
  Head head = parse_head(text, limits_);
  // What one of the two does not take is refused: they agree on where the body ends.
  error_code failed;
  beast_->parser.eager(false);
  const std::size_t taken = beast_->parser.put(buffer_of(text), failed);
  if (failed || taken != text.size() || !beast_->parser.is_header_done() ||
      beast_->parser.chunked() != head.chunked) {
    throw Refusal(400, "the request is malformed" + (failed ? ": " + failed.message() : ""));
  }
  head.keep_alive = beast_->parser.keep_alive();
  beast_->parser.eager(true);
  return head;
}

std::size_t RequestParser::take_body(std::string_view bytes) {
  if (is_whole() || bytes.empty()) return 0;
  error_code failed;
  const std::size_t taken = beast_->parser.put(buffer_of(bytes), failed);
  taken_ += taken;
  // Chunks have lengths and ends of their own.
  if (failed == http::error::body_limit || taken_ > limits_.body + limits_.body / 4 + 65536) {
    throw Refusal(413, "the body is larger than the " + std::to_string(limits_.body) +
                           " bytes that are allowed");
  }
  if (failed && failed != http::error::need_more) {
    throw Refusal(400, "the body is malformed: " + failed.message());
  }
  // What is left is a chunk's length, or what stands behind the last one.
  if (!is_whole() && bytes.size() - taken > limits_.head) {
    throw Refusal(400, "the body has a chunk whose length does not end");
  }
  return taken;
}

bool RequestParser::is_whole() const { return beast_->parser.is_done(); }

std::string RequestParser::take_text() { return std::move(beast_->parser.get().body()); }

std::string head_of(const Reply& reply, HttpVersion version, Afterwards afterwards) {
  http::response<http::empty_body> response;
  response.version(version == HttpVersion::http_1_0 ? 10 : 11);
  response.result(static_cast<unsigned>(reply.status));
  response.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  // What is not sent because it is known has no length of its own.
  if (reply.status != 304) {
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
