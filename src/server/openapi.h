#pragma once

#include "schemas.h"

namespace diml::server {

// OpenAPI 3, made from the table of routes and the lists of fields, so it always agrees with the
// server. params: ranges and defaults are those of this server.
Document openapi_document(const ServerParams& params);

}  // namespace diml::server
