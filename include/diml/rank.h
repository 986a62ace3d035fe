#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace diml {

// What orders the head of a list: the weighted sum of cosine and structural similarity.
struct ScoreWeights {
  float global = 1.0F;
  float structural = 1.0F;

  float total(float cosine, float match) const;
};

// Throws where they order nothing: below 0, or both 0.
void check(const ScoreWeights& weights);

// Re-ranks the head of one list: the places of its first structural.size() candidates by falling
// total, ties by lower id. What stands behind the head keeps its place. ids, cosines: the list in
// the order of stage 1, at least as long as the head.
std::vector<std::size_t> rank(std::span<const std::int64_t> ids, std::span<const float> cosines,
                              std::span<const float> structural, ScoreWeights weights = {});

}  // namespace diml
