#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/match.h"

namespace diml {

// How the cells of a grid lie in the image: row-major, row by row from the top.
struct GridShape {
  std::size_t rows = 0;
  std::size_t cols = 0;

  std::size_t count() const { return rows * cols; }
  bool operator==(const GridShape&) const = default;
};

// The shape of so many cells where nobody says it: a square where they make one, else as near to it
// as whole rows allow, wider than high.
GridShape shape_of_cells(std::size_t count);

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

// Why two images are as similar as they are. Rows are source cells, columns target cells.
struct Explanation {
  double score = 0.0;            // structural similarity: all contributions sum to it
  double cosine = 0.0;           // what the global vectors alone say
  double mean_similarity = 0.0;  // what an even flow would say: the mean of S
  GridShape source;
  GridShape target;
  // Heat maps: how much each cell weighs. Plain pooling would weigh all of them alike, 1 / R.
  std::vector<double> source_marginal;  // [R_s], sums to 1
  std::vector<double> target_marginal;  // [R_t], sums to 1
  std::vector<double> similarity;       // S, [R_s, R_t]
  std::vector<double> plan;             // T, [R_s, R_t]
  // All pairs of cells, the largest contribution first; ties by source, then target.
  std::vector<PartPair> pairs;
  // Of each source cell that weighs anything the pair that takes most of its mass, the smallest
  // contribution first. (The smallest of all pairs would be pairs between which nothing flows,
  // thousands of them.)
  std::vector<PartPair> weakest;
  MatchParams params;
  Fallbacks fallbacks;
  int iterations = 0;
  double marginal_error = 0.0;
  bool converged = false;

  double total() const { return cosine + score; }  // what search ranks by
  double contribution(std::size_t i, std::size_t j) const {
    return plan[i * target.count() + j] * similarity[i * target.count() + j];
  }
  // What each source cell adds, over all targets: [R_s]. They sum to the score.
  std::vector<double> source_contributions() const;
};

// Throws as match() does, and when a shape has not the grid's number of cells.
Explanation explain(GridView source, GridView target, const MatchParams& params);
Explanation explain(GridView source, GridView target, const MatchParams& params,
                    GridShape source_shape, GridShape target_shape);

constexpr std::size_t kAllPairs = std::numeric_limits<std::size_t>::max();

// docs/explain.md has the fields. most_pairs: how many of the strongest are listed; the matrices
// hold all of them. With the JSON feature.
std::string to_json(const Explanation& explanation, std::size_t most_pairs = kAllPairs);

// The same back, from a text that lists all pairs or not. Throws on anything else.
Explanation explanation_from_json(std::string_view text);

}  // namespace diml
