#pragma once

#include "input.h"

namespace diml::server {

// OpenAPI 3, made from the table of routes: it cannot say anything else than the router does.
Json openapi_document();

}  // namespace diml::server
