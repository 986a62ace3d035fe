#pragma once

#include <cstddef>
#include <memory>

#include "diml/candidates.h"

namespace diml {

// Asks the index of the store that request.snapshot is of: see GridSnapshot::about_nearest().
std::unique_ptr<CandidateSource> make_store_source(std::size_t size);

}  // namespace diml
