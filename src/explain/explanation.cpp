#include <algorithm>
#include <cmath>
#include <string>

#include "diml/error.h"
#include "diml/explain.h"
#include "match/affine_prior.h"
#include "pairs.h"
#include "regions.h"

namespace diml {
namespace {

void expect_shape(GridShape shape, std::size_t cells, const char* side) {
  if (shape.count() == cells) return;
  throw Error(std::string("the ") + side + " has " + std::to_string(cells) + " cells, not " +
              std::to_string(shape.rows) + " x " + std::to_string(shape.cols) +
              ": give the shape that it was embedded with");
}

double cosine_of(GridView source, GridView target) {
  double dot = 0.0;
  for (std::size_t d = 0; d < source.dim; ++d) {
    dot += static_cast<double>(source.global[d]) * target.global[d];
  }
  return dot;
}

PartPair pair_of(const Explanation& explanation, std::size_t i, std::size_t j) {
  const std::size_t k = i * explanation.target.count() + j;
  PartPair pair{.source = i,
                .target = j,
                .mass = explanation.plan[k],
                .amplified = explanation.plan[k] * static_cast<double>(explanation.plan.size()),
                .similarity = explanation.similarity[k],
                .contribution = explanation.contribution(i, j)};
  // If the score is 0, all shares are 0.
  if (explanation.score != 0.0) pair.share = pair.contribution / explanation.score;
  return pair;
}

}  // namespace

void explained::list_pairs(Explanation& explanation) {
  const std::size_t rows = explanation.source.count();
  const std::size_t cols = explanation.target.count();
  explanation.pairs.clear();
  explanation.weakest.clear();
  for (std::size_t i = 0; i < rows; ++i) {
    const double* row = &explanation.plan[i * cols];
    for (std::size_t j = 0; j < cols; ++j) explanation.pairs.push_back(pair_of(explanation, i, j));
    const auto most = static_cast<std::size_t>(std::max_element(row, row + cols) - row);
    if (row[most] > 0.0) explanation.weakest.push_back(pair_of(explanation, i, most));
  }
  // Stable: equal contributions stay in the order of their cells.
  std::stable_sort(
      explanation.pairs.begin(), explanation.pairs.end(),
      [](const PartPair& x, const PartPair& y) { return x.contribution > y.contribution; });
  std::stable_sort(
      explanation.weakest.begin(), explanation.weakest.end(),
      [](const PartPair& x, const PartPair& y) { return x.contribution < y.contribution; });
}

std::vector<double> Explanation::source_contributions() const {
  std::vector<double> sums(source.count());
  for (std::size_t i = 0; i < source.count(); ++i) {
    for (std::size_t j = 0; j < target.count(); ++j) sums[i] += contribution(i, j);
  }
  return sums;
}

Explanation explain(GridView source, GridView target, const MatchParams& params,
                    const ScoreWeights& weights) {
  // A guess suits a picture, but not a prior, which would pull mass to wrong places.
  const auto shape_of = [&](GridShape given, std::size_t cells, const char* side) {
    if (given.count() != 0) return given;
    return params.prior == Prior::none ? shape_of_cells(cells)
                                       : shape_for_prior(given, cells, side);
  };
  return explain(source, target, params, shape_of(params.source_shape, source.count, "source"),
                 shape_of(params.target_shape, target.count, "target"), weights);
}

Explanation explain(GridView source, GridView target, const MatchParams& params,
                    GridShape source_shape, GridShape target_shape, const ScoreWeights& weights) {
  check(weights);
  expect_shape(source_shape, source.count, "source");
  expect_shape(target_shape, target.count, "target");
  MatchParams with_shapes = params;
  with_shapes.source_shape = source_shape;
  with_shapes.target_shape = target_shape;
  StructuralMatch found = match(source, target, with_shapes);
  Explanation explanation;
  explanation.score = found.score;
  explanation.cosine = cosine_of(source, target);
  for (const double s : found.similarity) explanation.mean_similarity += s;
  explanation.mean_similarity *=
      params.transport.mass / static_cast<double>(found.similarity.size());
  explanation.source = source_shape;
  explanation.target = target_shape;
  explanation.source_marginal = std::move(found.marginals.source);
  explanation.target_marginal = std::move(found.marginals.target);
  explanation.similarity = std::move(found.similarity);
  explanation.plan = std::move(found.plan.mass);
  explanation.prior = found.prior;
  explanation.params = with_shapes;
  explanation.params.transport.backend = found.plan.backend;
  explanation.weights = weights;
  explanation.fallbacks = found.marginals.fallbacks;
  explanation.iterations = found.plan.iterations;
  explanation.marginal_error = found.plan.marginal_error;
  explanation.converged = found.plan.converged;
  explained::list_pairs(explanation);
  explained::find_regions(explanation);
  return explanation;
}

}  // namespace diml
