#pragma once

#include <memory>

#include "diml/grid_store.h"
#include "diml/searcher.h"
#include "live_candidates.h"

namespace diml {

// The candidates of a snapshot from the caller's own source, or from the source of that name. The
// table of sources is in sources.cpp: a new one is a line there.
std::shared_ptr<const LiveCandidates> make_candidates(const SearcherParams& params,
                                                      const GridStore& store,
                                                      const GridSnapshot& snapshot);

// Whether so much has changed since the base was made that a new one pays: a quarter of it, and
// more than a few thousand.
bool is_outgrown(const SearcherParams& params, const LiveCandidates& candidates);

}  // namespace diml
