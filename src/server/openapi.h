#pragma once

#include "schemas.h"

namespace diml::server {

// OpenAPI 3, made from the table of routes and the lists of fields, so it always agrees with the
// server. params: ranges and defaults are those of this server.
Document openapi_document(const ServerParams& params);

// The same as it is sent. Made once: a Document needs memory to be freed.
std::string openapi_text(const ServerParams& params);

}  // namespace diml::server
