#pragma once

namespace diml {

// What orders the head of a list: the weighted sum of cosine and structural similarity.
struct ScoreWeights {
  float global = 1.0F;
  float structural = 1.0F;

  float total(float cosine, float match) const { return global * cosine + structural * match; }
};

// Throws where they order nothing: below 0, or both 0.
void check(const ScoreWeights& weights);

}  // namespace diml
