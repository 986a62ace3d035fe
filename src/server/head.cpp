#include "head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "refusal.h"

namespace diml::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMostHeaders = 100;
// Partial answers and packed ones: nobody needs them here, and the library's code for them has
// been a way in before.
constexpr std::array kDropped = {"range", "accept-encoding", "diml-content-type"};

[[noreturn]] void refuse(const std::string& why) { throw Refusal(400, "the request " + why); }

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return made;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

void parse_request_line(std::string_view line, const ServerLimits& limits, Head& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) refuse("has no method, path and version");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    throw Refusal(505, "this server speaks HTTP/1.1");
  }
  if (!is_token(method)) refuse("has no method");
  if (target.size() > limits.target) {
    throw Refusal(414, "the address is longer than " + std::to_string(limits.target) + " bytes");
  }
  if (!target.starts_with('/') || !is_visible(target)) refuse("needs a path that begins with /");
  head.method = method;
  head.target = target;
}

void take_header(std::string_view line, Head& head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    refuse("has a header without a name");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(),
                  [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; })) {
    refuse("has control characters in a header");
  }
  const std::string name = lower(line.substr(0, colon));
  if (!head.headers.emplace(name, value).second &&
      (name == "content-length" || name == "transfer-encoding" || name == "host" ||
       name == "content-type" || name == "authorization")) {
    refuse("says '" + name + "' twice");
  }
  if (std::find(kDropped.begin(), kDropped.end(), name) != kDropped.end()) return;
  const std::string kept =
      name == "content-type" ? std::string(kBodyType) : std::string(line.substr(0, colon));
  head.text += kept + ": " + std::string(value) + "\r\n";
}

void take_body_size(const ServerLimits& limits, Head& head) {
  const std::string encoding = lower(head.header("transfer-encoding"));
  const std::string length = head.header("content-length");
  if (!encoding.empty()) {
    if (encoding != "chunked") throw Refusal(501, "the transfer encoding may be chunked, no other");
    if (!length.empty()) refuse("has a length and is chunked: one of the two");
    head.chunked = true;
  }
  if (head.headers.contains("content-length")) {
    const char* end = length.data() + length.size();
    const auto [stopped, error] = std::from_chars(length.data(), end, head.content_length);
    if (error == std::errc::result_out_of_range) head.content_length = UINT64_MAX;
    if (length.empty() || stopped != end) refuse("has a Content-Length that is no number");
  }
  if (head.content_length > limits.body) {
    throw Refusal(413, "the body is larger than the " + std::to_string(limits.body) +
                           " bytes that are allowed: send less, or start the server with "
                           "--most-megabytes");
  }
  const std::string packed = lower(head.header("content-encoding"));
  if (!packed.empty() && packed != "identity") {
    throw Refusal(415, "the body is packed (" + packed + "): send it as it is");
  }
}

}  // namespace

Head parse_head(std::string_view text, const ServerLimits& limits) {
  Head head;
  std::size_t lines = 0;
  while (true) {
    const std::size_t end = text.find(kLineEnd);
    if (end == std::string_view::npos) refuse("is cut off");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + kLineEnd.size());
    if (line.empty() && lines > 0) break;
    if (lines++ == 0) {
      parse_request_line(line, limits, head);
      head.text = std::string(line) + "\r\n";
    } else {
      if (lines > kMostHeaders) throw Refusal(431, "the request has more than 100 headers");
      take_header(line, head);
    }
  }
  head.text += kLineEnd;
  take_body_size(limits, head);
  return head;
}

}  // namespace diml::server
