#include "gate.h"

#include <algorithm>
#include <array>

#include "base/lower_case.h"
#include "cors.h"
#include "page.h"

namespace diml::server {
namespace {

std::string without_port(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos || host.find(']', colon) != std::string::npos) return host;
  return host.substr(0, colon);
}

bool is_loopback(const std::string& name) {
  constexpr std::array kNames = {"localhost", "127.0.0.1", "[::1]", "::1"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Names that no page of another site can have, and those that the server was told.
bool is_own_name(const std::string& name, const ServerParams& params) {
  const auto is_it = [&](const std::string& told) {
    const std::string host = lower_case(told);
    return name == host || name == "[" + host + "]";
  };
  const bool is_any = params.host == "0.0.0.0" || params.host == "::" || !params.socket.empty();
  return is_loopback(name) || (!is_any && is_it(params.host)) ||
         std::any_of(params.allowed_hosts.begin(), params.allowed_hosts.end(), is_it);
}

}  // namespace

// A page of another site must not reach this server through a visitor's browser: neither by
// submitting forms, nor by DNS rebinding (a name of the site that suddenly means this address).
// Against rebinding, a token helps as well: the browser has none for that name.
void expect_own_site(const Head& head, const ServerParams& params, bool needs_token) {
  const std::string host = head.header("host");
  const bool is_checked = !needs_token || !params.allowed_hosts.empty();
  if (is_checked && !host.empty() && !is_own_name(without_port(host), params)) {
    throw Refusal(421,
                  "this server does not answer to this host name, only to localhost and to names "
                  "that it was told (its setting allow_host)");
  }
  const std::string origin = head.header("origin");
  if (is_allowed_origin(origin, params)) return;
  const std::size_t scheme = origin.find("://");
  if (!origin.empty() && (scheme == std::string::npos ||
                          lower_case(origin.substr(scheme + 3)) != head.header("host"))) {
    throw Refusal(403, "requests from a page of another site are refused");
  }
}

Admitted admit(const Head& head, const ServerParams& params, Keys& keys,
               const std::string& client) {
  Admitted admitted;
  const bool needs_token = keys.any();
  expect_own_site(head, params, needs_token);
  const std::string path = head.path();
  const bool is_page =
      find_page_file(path) != nullptr && (head.method == "GET" || head.method == "HEAD");
  const Route* route = is_page ? nullptr : &find_route(head.method, path, admitted.id);
  if (head.method != "POST" && head.method != "PATCH" && head.has_body()) {
    throw Refusal(400, "the request has a body, which " + head.method + " does not take here");
  }
  admitted.route = route;
  if (is_page || route->words.access == Access::open) return admitted;
  bool reads_only = false;
  if (needs_token) {
    const Keys::Holder holder = keys.holder(head.header("authorization"), client);
    admitted.token = holder.name;
    reads_only = holder.rights == TokenRights::read;
  }
  admitted.may_change = !reads_only && params.changes == ItemChanges::allowed;
  if (route->words.access != Access::change || admitted.may_change) return admitted;
  throw Refusal(403, reads_only
                         ? "this token may read only: items need one that may write"
                         : "this server is read-only: items cannot be added, changed or deleted");
}

}  // namespace diml::server
