#pragma once

#include <cstdint>
#include <span>

#include "diml/candidates.h"

namespace diml {

// The nearest of some vectors, which may lie anywhere: bit for bit what an exact source of these
// vectors alone finds. ids, vectors: of one length, each vector [dim]. Lists of request.depth.
Ranking scan(const CandidateRequest& request, std::span<const std::int64_t> ids,
             std::span<const float* const> vectors, int threads);

// The same of the items request.admitted of request.snapshot, which are read block by block: the
// whole of them is never in memory.
Ranking scan_stored(const CandidateRequest& request, int threads);

// The same for query `q` alone, into list `q` of the ranking.
void put_scanned(const CandidateRequest& request, std::size_t q, Ranking& ranking);

// The length of the longest list: all admitted, less the one that every query excludes.
std::size_t longest_admitted(const CandidateRequest& request);

}  // namespace diml
