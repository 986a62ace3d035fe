#pragma once

#include "schemas.h"

namespace diml::server {

// OpenAPI 3, made from the table of routes and the lists of fields: it cannot say anything else
// than the server does. params: ranges and defaults are those of this server.
Document openapi_document(const ServerParams& params);

}  // namespace diml::server
