#pragma once

#include <memory>
#include <string>

#include "diml/grid_store.h"
#include "live_candidates.h"

namespace diml {

// The candidates of a snapshot from the source of that name. The table of sources is in
// sources.cpp: a new one is a line there.
std::shared_ptr<const LiveCandidates> make_candidates(const std::string& source,
                                                      const GridStore& store,
                                                      const GridSnapshot& snapshot, int threads);

// Whether so much has changed since the base was made that a new one pays: a quarter of it, and
// more than a few thousand.
bool is_outgrown(const std::string& source, const LiveCandidates& candidates);

}  // namespace diml
