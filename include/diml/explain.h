#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/match.h"

namespace diml {

// A source cell and a target cell, and what the two of them add to the score.
struct PartPair {
  std::size_t source = 0;
  std::size_t target = 0;
  double mass = 0.0;          // T_ij
  double amplified = 0.0;     // That_ij = R_s R_t T_ij: an even flow gives 1
  double similarity = 0.0;    // S_ij
  double contribution = 0.0;  // T_ij S_ij = That_ij S_ij / (R_s R_t)
  double share = 0.0;         // of the score
};

// Cells that lie side by side in the source, and the cells that lie side by side in the target to
// which most of their mass goes. Regions share no source cell; docs/explain.md has the algorithm.
struct Region {
  std::vector<std::size_t> source;  // ascending
  std::vector<std::size_t> target;  // ascending
  double mass = 0.0;                // between the two groups of cells
  double similarity = 0.0;          // mean over that mass: contribution / mass
  double contribution = 0.0;        // of the pairs between the two groups
  double share = 0.0;               // of the score
};

// Why two images are as similar as they are. Rows are source cells, columns target cells.
struct Explanation {
  double score = 0.0;            // structural similarity: all contributions sum to it
  double cosine = 0.0;           // of the global vectors
  double mean_similarity = 0.0;  // the score of an even flow of the same mass: its share of mean S
  GridShape source;
  GridShape target;
  // Heat maps: the weight of each cell. Plain pooling gives all cells the same weight, 1 / R.
  std::vector<double> source_marginal;  // [R_s], sums to 1
  std::vector<double> target_marginal;  // [R_t], sums to 1
  std::vector<double> similarity;       // S, [R_s, R_t]
  std::vector<double> plan;             // T, [R_s, R_t]
  // All pairs of cells, the largest contribution first; ties by source, then target.
  std::vector<PartPair> pairs;
  // One pair for each source cell with a weight: the pair that takes most of its mass. The smallest
  // contribution comes first. (The smallest of all pairs are thousands between which nothing
  // flows.)
  std::vector<PartPair> weakest;
  // Few groups of cells in place of many pairs, the largest contribution first. The contributions
  // of regions and `scattered` sum to the score.
  std::vector<Region> regions;
  double scattered = 0.0;            // contribution of the pairs that are in no region
  std::optional<PriorReport> prior;  // what it did; none where none was wanted
  MatchParams params;                // with the backend and the shapes that were used
  Fallbacks fallbacks;
  int iterations = 0;
  double marginal_error = 0.0;
  bool converged = false;

  ScoreWeights weights;  // of the total

  // The score that search ranks by, in double: a hit's total is the same sum in float32, and the
  // two differ by rounding, at most 1e-5 times the sum of the weights.
  double total() const { return weights.global * cosine + weights.structural * score; }
  double contribution(std::size_t i, std::size_t j) const {
    return plan[i * target.count() + j] * similarity[i * target.count() + j];
  }
  // What each source cell adds, over all targets: [R_s]. They sum to the score.
  std::vector<double> source_contributions() const;
};

// Throws as match() does, and when a shape and its grid differ in the number of cells.
Explanation explain(GridView source, GridView target, const MatchParams& params = {},
                    const ScoreWeights& weights = {});
Explanation explain(GridView source, GridView target, const MatchParams& params,
                    GridShape source_shape, GridShape target_shape,
                    const ScoreWeights& weights = {});

constexpr std::size_t kAllPairs = std::numeric_limits<std::size_t>::max();

// docs/explain.md has the fields. most_pairs: how many of the strongest are listed; the matrices
// hold all of them. With the JSON feature.
std::string to_json(const Explanation& explanation, std::size_t most_pairs = kAllPairs);

// Reads it back, whether the text lists all pairs or not. Throws on any other text.
Explanation explanation_from_json(std::string_view text);

}  // namespace diml
