#include "head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "refusal.h"

namespace diml::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMostHeaders = 100;
// Said twice they would mean one thing to us and another to a proxy in front of us.
constexpr std::array kSaidOnce = {"authorization", "content-encoding", "content-length",
                                  "content-type",  "expect",           "host",
                                  "origin",        "transfer-encoding"};

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
  head.version = version == "HTTP/1.0" ? HttpVersion::http_1_0 : HttpVersion::http_1_1;
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
      std::find(kSaidOnce.begin(), kSaidOnce.end(), name) != kSaidOnce.end()) {
    refuse("says '" + name + "' twice");
  }
}

void take_body_size(const ServerLimits& limits, Head& head) {
  const std::string encoding = lower(head.header("transfer-encoding"));
  const std::string length = head.header("content-length");
  if (head.headers.contains("transfer-encoding")) {
    if (encoding != "chunked") throw Refusal(501, "the transfer encoding may be chunked, no other");
    if (head.headers.contains("content-length")) {
      refuse("has a length and is chunked: one of the two");
    }
    if (head.version == HttpVersion::http_1_0) refuse("is chunked, which HTTP/1.0 does not know");
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

void take_expectation(Head& head) {
  if (!head.headers.contains("expect")) return;
  if (lower(head.header("expect")) != "100-continue") {
    throw Refusal(417, "this server knows no expectation but 100-continue");
  }
  head.expects_continue = head.version == HttpVersion::http_1_1 && head.has_body();
}

std::string decoded(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      made += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
      refuse("has an address with a broken %");
    }
    made += static_cast<char>(value);
    i += 2;
  }
  return made;
}

}  // namespace

std::map<std::string, std::string> Head::query() const {
  std::map<std::string, std::string> fields;
  const std::size_t mark = target.find('?');
  if (mark == std::string::npos) return fields;
  std::string_view rest = std::string_view(target).substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.empty()) continue;
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string name = decoded(one.substr(0, equals));
    const std::string value = decoded(one.substr(std::min(equals + 1, one.size())));
    if (!fields.emplace(name, value).second) {
      throw Refusal(400, "'" + name.substr(0, 40) + "' stands twice in the address");
    }
  }
  return fields;
}

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
    } else {
      if (lines > kMostHeaders) throw Refusal(431, "the request has more than 100 headers");
      take_header(line, head);
    }
  }
  take_body_size(limits, head);
  take_expectation(head);
  return head;
}

}  // namespace diml::server
