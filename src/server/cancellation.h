#pragma once

#include "diml/progress.h"
#include "patience.h"

namespace diml::server {

// Throws the Refusal of a request whose patience is over: its client is gone, its time is up, or
// the server ends.
void expect_patience(const Patience& patience);

// Of the library's work for a request: cancelled where its patience is over. patience must outlive
// it.
Progress progress_of(const Patience& patience);

}  // namespace diml::server
