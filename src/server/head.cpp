#include "head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/lower_case.h"
#include "refusal.h"

namespace diml::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMostHeaders = 100;
// If one of these occurs twice, a proxy could understand the request differently than we do.
constexpr std::array kSaidOnce = {"authorization", "content-encoding", "content-length",
                                  "content-type",  "expect",           "host",
                                  "origin",        "transfer-encoding"};

[[noreturn]] void refuse(const std::string& why) { throw Refusal(400, "the request " + why); }

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
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
  if (target.find('#') != std::string_view::npos) refuse("has a # in its address");
  head.method = method;
  head.target = target;
  head.version = version == "HTTP/1.0" ? HttpVersion::http_1_0 : HttpVersion::http_1_1;
}

void take_header(std::string_view line, Head& head) {
  const auto [name, value] = header_of(line);
  const auto [there, is_new] = head.headers.emplace(name, value);
  // Each proxy may add a header of its own; they count as one list.
  if (!is_new && name == "x-forwarded-for") there->second.append(", ").append(value);
  if (!is_new && std::find(kSaidOnce.begin(), kSaidOnce.end(), name) != kSaidOnce.end()) {
    refuse("says '" + name + "' twice");
  }
}

// A name or an address, and perhaps a port.
bool is_host(std::string_view text) {
  std::string_view name = text;
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && text.find(']', colon) == text.npos;
  if (has_port) {
    const std::string_view port = text.substr(colon + 1);
    if (port.size() > 5 ||
        !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return false;
    }
    name = text.substr(0, colon);
  }
  const bool is_address = name.starts_with('[') && name.ends_with(']');
  if (is_address) name = name.substr(1, name.size() - 2);
  const std::string_view others = is_address ? ":." : "-._~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || others.find(c) != others.npos;
  });
}

// Browsers always say whom they ask; gate.cpp relies on it.
void take_host(Head& head) {
  const auto found = head.headers.find("host");
  if (found == head.headers.end()) {
    if (head.version == HttpVersion::http_1_0) return;
    refuse("has no Host header: send exactly one");
  }
  found->second = lower_case(found->second);
  if (!is_host(found->second)) refuse("has a Host that is not a name or address with a port");
}

void take_body_size(const ServerLimits& limits, Head& head) {
  const std::string encoding = lower_case(head.header("transfer-encoding"));
  const std::string length = head.header("content-length");
  if (head.headers.contains("transfer-encoding")) {
    if (encoding != "chunked")
      throw Refusal(501, "the only supported transfer encoding is chunked");
    if (head.headers.contains("content-length")) {
      refuse("has a Content-Length and is chunked: use one of the two");
    }
    if (head.version == HttpVersion::http_1_0)
      refuse("is chunked, which HTTP/1.0 does not support");
    head.chunked = true;
  }
  if (head.headers.contains("content-length")) {
    const char* end = length.data() + length.size();
    const auto [stopped, error] = std::from_chars(length.data(), end, head.content_length);
    if (error == std::errc::result_out_of_range) head.content_length = UINT64_MAX;
    if (length.empty() || stopped != end) refuse("has a Content-Length that is not a number");
  }
  if (head.content_length > limits.body) {
    throw Refusal(413, "the body is larger than the " + std::to_string(limits.body) +
                           " bytes that are allowed: send less, or raise the server's limit");
  }
  const std::string packed = lower_case(head.header("content-encoding"));
  if (!packed.empty() && packed != "identity") {
    throw Refusal(415, "the body is compressed (" + packed + "): send it uncompressed");
  }
}

void take_expectation(Head& head) {
  if (!head.headers.contains("expect")) return;
  if (lower_case(head.header("expect")) != "100-continue") {
    throw Refusal(417, "the only supported expectation is 100-continue");
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
      refuse("has an address with an invalid %");
    }
    made += static_cast<char>(value);
    i += 2;
  }
  return made;
}

}  // namespace

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::pair<std::string, std::string> header_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    refuse("has a header without a name");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(),
                  [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; })) {
    refuse("has control characters in a header");
  }
  return {lower_case(line.substr(0, colon)), std::string(value)};
}

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
      throw Refusal(400, "'" + name.substr(0, 40) + "' is in the address twice");
    }
  }
  return fields;
}

Head parse_head(std::string_view text, const ServerLimits& limits) {
  Head head;
  std::size_t lines = 0;
  while (true) {
    const std::size_t end = text.find(kLineEnd);
    if (end == std::string_view::npos) refuse("is incomplete");
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
  take_host(head);
  take_body_size(limits, head);
  take_expectation(head);
  return head;
}

}  // namespace diml::server
