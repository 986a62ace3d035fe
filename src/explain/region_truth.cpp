#include "explain/region_truth.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/threads.h"
#include "diml/error.h"

namespace diml {
namespace {

// What one pair says.
struct Judged {
  double parts = 0.0;
  double right = 0.0;
  double same_place = 0.0;
  double target_cells = 0.0;
  double coverage = 0.0;
  double even_coverage = 0.0;
  double top_five = 0.0;
};

std::size_t squared_distance(std::size_t x, std::size_t y, GridShape shape) {
  const auto apart = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
  const std::size_t rows = apart(x / shape.cols, y / shape.cols);
  const std::size_t cols = apart(x % shape.cols, y % shape.cols);
  return rows * rows + cols * cols;
}

// Whether `cell` is one of the `count` cells nearest to `middle`; ties by number.
bool is_among_nearest(std::size_t cell, std::size_t middle, std::size_t count, GridShape shape) {
  const std::size_t own = squared_distance(cell, middle, shape);
  std::size_t before = 0;
  for (std::size_t other = 0; other < shape.count(); ++other) {
    const std::size_t distance = squared_distance(other, middle, shape);
    before += distance < own || (distance == own && other < cell) ? 1 : 0;
  }
  return before < count;
}

bool has(const std::vector<std::size_t>& ascending, std::size_t cell) {
  return std::binary_search(ascending.begin(), ascending.end(), cell);
}

double sum_of(const std::vector<double>& weights, const std::vector<std::size_t>& cells) {
  return std::accumulate(cells.begin(), cells.end(), 0.0,
                         [&](double sum, std::size_t cell) { return sum + weights[cell]; });
}

Judged judge(const Explanation& why, const std::vector<PartCell>& source,
             const std::vector<PartCell>& target) {
  Judged judged;
  for (const PartCell& part : source) {
    const auto same = std::find_if(target.begin(), target.end(),
                                   [&](const PartCell& other) { return other.part == part.part; });
    if (same == target.end()) continue;
    judged.parts += 1.0;
    // A cell without mass is in no region: no answer, which counts as wrong.
    const auto region = std::find_if(why.regions.begin(), why.regions.end(),
                                     [&](const Region& one) { return has(one.source, part.cell); });
    if (region == why.regions.end()) continue;
    const std::size_t count = region->target.size();
    judged.right += has(region->target, same->cell) ? 1.0 : 0.0;
    judged.same_place += is_among_nearest(same->cell, part.cell, count, why.target) ? 1.0 : 0.0;
    judged.target_cells += static_cast<double>(count) / static_cast<double>(why.target.count());
  }
  for (const Region& region : why.regions) {
    judged.coverage += region.share;
    judged.even_coverage +=
        sum_of(why.source_marginal, region.source) * sum_of(why.target_marginal, region.target);
  }
  for (std::size_t k = 0; k < std::min<std::size_t>(5, why.pairs.size()); ++k) {
    judged.top_five += why.pairs[k].share;
  }
  return judged;
}

double median(const std::vector<Judged>& pairs, double Judged::*value) {
  std::vector<double> values;
  for (const Judged& pair : pairs) values.push_back(pair.*value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

RegionTruth summary(std::string name, const std::vector<Judged>& pairs) {
  RegionTruth truth{.name = std::move(name), .pairs = pairs.size()};
  double parts = 0.0;
  for (const Judged& pair : pairs) {
    parts += pair.parts;
    truth.right += pair.right;
    truth.same_place += pair.same_place;
    truth.target_cells += pair.target_cells;
  }
  truth.parts = static_cast<std::size_t>(parts);
  if (parts == 0.0) return truth;
  truth.right /= parts;
  truth.same_place /= parts;
  truth.target_cells /= parts;
  double right = 0.0;
  double same_place = 0.0;
  double gain = 0.0;
  for (const Judged& pair : pairs) {
    const double r = pair.right - truth.right * pair.parts;
    const double s = pair.same_place - truth.same_place * pair.parts;
    right += r * r;
    same_place += s * s;
    gain += (r - s) * (r - s);
  }
  truth.right_error = std::sqrt(right) / parts;
  truth.same_place_error = std::sqrt(same_place) / parts;
  truth.gain_error = std::sqrt(gain) / parts;
  truth.coverage = median(pairs, &Judged::coverage);
  truth.even_coverage = median(pairs, &Judged::even_coverage);
  truth.top_five = median(pairs, &Judged::top_five);
  return truth;
}

}  // namespace

std::vector<RegionTruth> judge_regions(const GridSetView& grids, GridShape shape,
                                       std::span<const std::vector<PartCell>> parts,
                                       std::span<const ImagePair> pairs,
                                       const PartTruthParams& params, const Progress& progress) {
  if (shape.count() != grids.cells_per_grid || parts.size() != grids.size || pairs.empty()) {
    throw Error("regions are judged by pairs of images whose parts and grids are known");
  }
  std::vector<RegionTruth> truths;
  std::vector<Prior> priors = {Prior::none};
  if (params.match.transport.backend != Backend::exact) priors.push_back(Prior::affine);
  std::size_t done = 0;
  for (const Prior prior : priors) {
    MatchParams match = params.match;
    match.prior = prior;
    std::vector<Judged> judged(pairs.size());
    constexpr std::size_t kAtOnce = 64;
    for (std::size_t first = 0; first < pairs.size(); first += kAtOnce) {
      const std::size_t some = std::min(kAtOnce, pairs.size() - first);
      parallel_for(some, 1, params.threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = first + begin; k < first + end; ++k) {
          const Explanation why =
              explain(grids[pairs[k].source], grids[pairs[k].target], match, shape, shape);
          judged[k] = judge(why, parts[pairs[k].source], parts[pairs[k].target]);
        }
      });
      done += some;
      progress(done, priors.size() * pairs.size());
    }
    truths.push_back(summary(prior == Prior::none ? "regions" : "regions, affine prior", judged));
  }
  return truths;
}

}  // namespace diml
