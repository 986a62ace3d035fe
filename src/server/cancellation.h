#pragma once

#include "diml/progress.h"
#include "patience.h"

namespace diml::server {

// Throws a Refusal where the request has no time left: its client has disconnected, its deadline is
// over, or the server ends.
void expect_patience(const Patience& patience);

// A Progress for the library's work on a request: cancelled in the same cases. patience must
// outlive it.
Progress progress_of(const Patience& patience);

}  // namespace diml::server
