#include "cors.h"

#include <algorithm>
#include <cctype>

#include "diml/error.h"
#include "gate.h"
#include "page.h"
#include "routes.h"

namespace diml::server {
namespace {

// Seconds for which a browser need not ask again.
constexpr const char* kMaxAge = "600";

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// What browsers send: lower case, no path, no port that the scheme has anyway.
bool is_origin(const std::string& text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos || scheme == 0) return false;
  const std::string host = text.substr(scheme + 3);
  const auto plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isdigit(byte) || (c >= 'a' && c <= 'z') ||
           std::string_view("-._:[]").find(c) != std::string_view::npos;
  };
  return !host.empty() && std::all_of(host.begin(), host.end(), plain) &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(scheme),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '+'; });
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

void check_origins(const std::vector<std::string>& origins) {
  for (const std::string& origin : origins) {
    if (is_origin(origin)) continue;
    throw Error(ErrorKind::bad_input,
                "'" + origin +
                    "' is not an origin: name each site exactly, in lower case, as "
                    "https://shop.example or http://localhost:3000, without a path",
                "allow_origin");
  }
}

bool is_allowed_origin(const std::string& origin, const ServerParams& params) {
  return !origin.empty() && contains(params.allowed_origins, origin);
}

std::optional<Reply> preflight_reply(const Head& head, const ServerParams& params,
                                     bool needs_token) {
  if (head.method != "OPTIONS" || head.header("access-control-request-method").empty() ||
      !is_allowed_origin(head.header("origin"), params)) {
    return std::nullopt;
  }
  expect_own_site(head, params, needs_token);
  std::string methods = methods_of(head.path());
  if (methods.empty() && find_page_file(head.path()) != nullptr) methods = "GET";
  if (methods.empty()) {
    throw Refusal(404, "there is no such path: GET /openapi.json lists all of them");
  }
  return Reply{.status = 204,
               .headers = {{"Access-Control-Allow-Methods", methods},
                           {"Access-Control-Allow-Headers",
                            "Authorization, Content-Type, If-None-Match, X-Request-Id"},
                           {"Access-Control-Max-Age", kMaxAge}}};
}

void add_cors_headers(const Head& head, const ServerParams& params, Reply& reply) {
  if (params.allowed_origins.empty()) return;
  // A cache must not give one site's answer to another.
  reply.headers.emplace_back("Vary", "Origin");
  const std::string origin = head.header("origin");
  if (!is_allowed_origin(origin, params)) return;
  reply.headers.emplace_back("Access-Control-Allow-Origin", origin);
  reply.headers.emplace_back("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id");
}

std::string client_of(const std::string& peer, const Head& head,
                      const std::vector<std::string>& trusted_proxies) {
  if (!contains(trusted_proxies, peer)) return peer;
  std::string rest = head.header("x-forwarded-for");
  std::string client = peer;
  while (!rest.empty()) {
    const std::size_t comma = rest.rfind(',');
    const std::string last = trimmed(comma == std::string::npos ? rest : rest.substr(comma + 1));
    if (last.empty()) break;
    client = last;
    if (!contains(trusted_proxies, last) || comma == std::string::npos) break;
    rest.resize(comma);
  }
  return client;
}

}  // namespace diml::server
