#pragma once

#include "head.h"
#include "routes.h"

namespace diml::server {

// Whether this request may come in, judged by its head alone, before its body is read: the token,
// other sites' pages in a browser, routes that are not there. Throws Refusal. Null for files of the
// page; id: what stands for {id}.
const Route* admit(const Head& head, const ServerParams& params, std::int64_t& id);

}  // namespace diml::server
