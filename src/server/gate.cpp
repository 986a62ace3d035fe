#include "gate.h"

#include <algorithm>
#include <array>

#include "page.h"

namespace diml::server {
namespace {

// In the same time however much of it is right.
bool same_secret(const std::string& given, const std::string& secret) {
  unsigned difference = given.size() == secret.size() ? 0U : 1U;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(secret[i % secret.size()]);
  }
  return difference == 0;
}

std::string without_port(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos || host.find(']', colon) != std::string::npos) return host;
  return host.substr(0, colon);
}

bool is_loopback(const std::string& name) {
  constexpr std::array kNames = {"localhost", "127.0.0.1", "[::1]", "::1"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// A page of another site must not reach a server on this machine through the browser: neither by
// sending forms to it, nor by a name of its own that resolves to 127.0.0.1.
void expect_own_site(const Head& head, const ServerParams& params) {
  const std::string host = head.header("host");
  if (params.token.empty() && is_loopback(params.host) && !host.empty() &&
      !is_loopback(without_port(host))) {
    throw Refusal(421, "this server is for this machine: call it localhost or 127.0.0.1");
  }
  const std::string origin = head.header("origin");
  const std::size_t scheme = origin.find("://");
  if (!origin.empty() &&
      (scheme == std::string::npos || origin.substr(scheme + 3) != head.header("host"))) {
    throw Refusal(403, "a page of another site may not ask this server");
  }
}

}  // namespace

const Route* admit(const Head& head, const ServerParams& params, std::int64_t& id) {
  expect_own_site(head, params);
  const std::string path = head.path();
  const bool is_page =
      find_page_file(path) != nullptr && (head.method == "GET" || head.method == "HEAD");
  const Route* route = is_page ? nullptr : &find_route(head.method, path, id);
  if (head.method != "POST" && head.has_body()) {
    throw Refusal(400, "the request has a body, which " + head.method + " does not take here");
  }
  if (is_page || route->words.access == Access::open) return route;
  if (!params.token.empty() &&
      !same_secret(head.header("authorization"), "Bearer " + params.token)) {
    throw Refusal(401, "this server wants its token: send the header Authorization: Bearer TOKEN");
  }
  if (route->words.access == Access::change && params.changes == ItemChanges::refused) {
    throw Refusal(403, "this server does not change its gallery: it was started with --read-only");
  }
  return route;
}

}  // namespace diml::server
