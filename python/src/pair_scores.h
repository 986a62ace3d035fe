#pragma once

#include <span>
#include <string>

#include "grids.h"

namespace diml::python {

// How the cells of two images are compared: by transport, or by the mean over the source's cells of
// the largest similarity to a target's cell (maxsim, Chamfer).
enum class PairScore : std::uint8_t { structural, maxsim };
PairScore pair_score_from(const std::string& name);

// scores: [pairs]. Pairs name grids of the two collections, which may differ in cells. Called
// without the GIL. progress: in pairs, on the calling thread.
void score_pairs(const Matcher& matcher, const MatchParams& params, PairScore score,
                 const Grids& sources, const Grids& targets, std::span<const Pair> pairs,
                 std::span<float> scores, const Progress& progress);

}  // namespace diml::python
