#pragma once

#include "head.h"
#include "keys.h"
#include "routes.h"

namespace diml::server {

// Refuses names that are not this server's, and pages of other sites in a browser unless their
// origin is allowed. needs_token: see ServerParams::allowed_hosts. Throws Refusal.
void expect_own_site(const Head& head, const ServerParams& params, bool needs_token);

struct Admitted {
  const Route* route = nullptr;  // null for files of the page
  std::int64_t id = -1;          // the value of {id}
  std::string token{};           // the name of the token in the request
  bool may_change = false;       // whether a request to change items would be admitted
};

// Admits or refuses a request by its head, before its body is read: the host's name, the token and
// its rights, pages of other sites in a browser, unknown routes. client: wrong tokens are counted
// for it. Throws Refusal.
Admitted admit(const Head& head, const ServerParams& params, Keys& keys, const std::string& client);

}  // namespace diml::server
