#include <algorithm>
#include <array>
#include <numeric>

#include "base/random.h"
#include "diml/error.h"
#include "diml/matcher.h"
#include "explain/part_truth.h"

namespace diml {
namespace {

constexpr std::array<KeptCells, 3> kOrders = {KeptCells::strongest, KeptCells::random,
                                              KeptCells::weakest};

// All source cells; the first ones are kept longest.
std::vector<std::size_t> order_of(KeptCells kept, const std::vector<double>& contributions,
                                  Random& random) {
  std::vector<std::size_t> order(contributions.size());
  std::iota(order.begin(), order.end(), 0);
  if (kept == KeptCells::random) {
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
    return order;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return kept == KeptCells::strongest ? contributions[x] > contributions[y]
                                        : contributions[x] < contributions[y];
  });
  return order;
}

// The source with some of its cells; its global vector stays, because it belongs to the image.
EmbeddingGrid with_cells(GridView source, std::span<const std::size_t> cells) {
  std::vector<float> kept;
  kept.reserve(cells.size() * source.dim);
  for (const std::size_t cell : cells) {
    for (std::size_t d = 0; d < source.dim; ++d) kept.push_back(source.at(cell, d));
  }
  return {kept, source.dim, {source.global, source.dim}};
}

std::vector<std::size_t> cells_kept(std::size_t cells, std::size_t steps) {
  std::vector<std::size_t> counts;
  for (std::size_t step = 1; step <= steps; ++step) {
    const std::size_t count = std::max<std::size_t>(1, (cells * step + steps / 2) / steps);
    if (counts.empty() || counts.back() != count) counts.push_back(count);
  }
  return counts;
}

std::vector<std::size_t> distractors_of(std::span<const std::int64_t> labels, std::int64_t label,
                                        std::size_t count, Random& random) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != label) others.push_back(i);
  }
  count = std::min(count, others.size());
  for (std::size_t k = 0; k < count; ++k) {
    std::swap(others[k], others[k + random.below(others.size() - k)]);
  }
  others.resize(count);
  return others;
}

// Trapezoidal rule; left of the first point the curve is constant.
double area_under(const std::vector<CurvePoint>& points, double CurvePoint::*value) {
  double area = points.front().kept * (points.front().*value);
  for (std::size_t k = 1; k < points.size(); ++k) {
    area += (points[k].kept - points[k - 1].kept) * (points[k].*value + points[k - 1].*value) / 2.0;
  }
  return area;
}

}  // namespace

const char* name_of(KeptCells kept) {
  switch (kept) {
    case KeptCells::strongest:
      return "strongest";
    case KeptCells::weakest:
      return "weakest";
    default:
      return "random";
  }
}

std::vector<Curve> deletion_curves(const GridSetView& grids, std::span<const std::int64_t> labels,
                                   std::span<const ImagePair> pairs, const CurveParams& params,
                                   const Progress& progress) {
  if (labels.size() != grids.size) throw Error("labels and grids are not of the same images");
  if (pairs.empty() || params.steps < 1) throw Error("curves need pairs and at least one step");
  const std::unique_ptr<Matcher> matcher = make_matcher(params.backend, {params.threads});
  const std::vector<std::size_t> counts = cells_kept(grids.cells_per_grid, params.steps);
  std::vector<Curve> curves;
  curves.reserve(kOrders.size());
  for (const KeptCells kept : kOrders) {
    curves.push_back({kept, std::vector<CurvePoint>(counts.size())});
  }
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const GridView source = grids[pairs[p].source];
    Random random(mixed_seed(params.seed, 1, p));
    std::vector<Pair> looked_at = {{0, static_cast<std::int64_t>(pairs[p].target)}};
    for (const std::size_t other :
         distractors_of(labels, labels[pairs[p].source], params.distractors, random)) {
      looked_at.push_back({0, static_cast<std::int64_t>(other)});
    }
    const std::vector<double> contributions =
        explain(source, grids[pairs[p].target], params.match).source_contributions();
    std::vector<float> scores(looked_at.size());
    for (Curve& curve : curves) {
      const std::vector<std::size_t> order = order_of(curve.kept, contributions, random);
      for (std::size_t step = 0; step < counts.size(); ++step) {
        const EmbeddingGrid reduced = with_cells(source, {order.data(), counts[step]});
        const GridView view = reduced.view();
        const GridSetView one{view.cells, view.type, 1, view.count, view.dim, view.global};
        matcher->score({one, grids, looked_at}, params.match, scores);
        // Ties count against the target: equal scores do not distinguish it.
        const auto better = std::count_if(scores.begin() + 1, scores.end(),
                                          [&](float score) { return score >= scores[0]; });
        CurvePoint& point = curve.points[step];
        point.score += scores[0];
        point.reciprocal_rank += 1.0 / static_cast<double>(better + 1);
        point.first += better == 0 ? 1.0 : 0.0;
      }
    }
    progress(p + 1, pairs.size());
  }
  const auto count = static_cast<double>(pairs.size());
  for (Curve& curve : curves) {
    for (std::size_t step = 0; step < counts.size(); ++step) {
      CurvePoint& point = curve.points[step];
      point = {static_cast<double>(counts[step]) / static_cast<double>(grids.cells_per_grid),
               point.score / count, point.reciprocal_rank / count, point.first / count};
    }
    curve.score_area = area_under(curve.points, &CurvePoint::score);
    curve.rank_area = area_under(curve.points, &CurvePoint::reciprocal_rank);
  }
  return curves;
}

}  // namespace diml
