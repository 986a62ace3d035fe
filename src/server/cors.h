#pragma once

#include <optional>
#include <string>
#include <vector>

#include "call.h"
#include "head.h"

namespace diml::server {

// Pages of other sites, in a browser, and proxies between a client and this server.

// Throws Error unless each is a scheme, a host and perhaps a port: "https://shop.example:8443".
void check_origins(const std::vector<std::string>& origins);

// Whether the server was told to accept requests from pages of this origin.
bool is_allowed_origin(const std::string& origin, const ServerParams& params);

// The answer to a browser that asks, before a request of an allowed origin, whether it may send it;
// none if the request is not such a question. Throws Refusal.
std::optional<Reply> preflight_reply(const Head& head, const ServerParams& params,
                                     bool needs_token);

// Lets a page of an allowed origin read the answer, also one that refuses.
void add_cors_headers(const Head& head, const ServerParams& params, Reply& reply);

// The client's address: peer's, or what a trusted proxy says about it. Of several proxies in a row,
// the last one that is not trusted counts: everything before it may be invented.
std::string client_of(const std::string& peer, const Head& head,
                      const std::vector<std::string>& trusted_proxies);

}  // namespace diml::server
