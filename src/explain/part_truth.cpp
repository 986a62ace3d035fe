#include "explain/part_truth.h"
#include "base/threads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/random.h"
#include "diml/error.h"

namespace diml {
namespace {

// The target cell that a method predicts for a source cell; nothing if it has no answer.
using Answer = std::function<std::optional<std::size_t>(const StructuralMatch& match,
                                                        std::size_t source_cell)>;

std::optional<std::size_t> largest_of(const std::vector<double>& matrix, std::size_t row,
                                      std::size_t cols, double above) {
  const auto begin = matrix.begin() + static_cast<std::ptrdiff_t>(row * cols);
  const auto most = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(cols));
  if (!(*most > above)) return std::nullopt;
  return static_cast<std::size_t>(most - begin);
}

std::optional<std::size_t> most_mass(const StructuralMatch& match, std::size_t cell) {
  return largest_of(match.plan.mass, cell, match.plan.cols, 0.0);
}

struct Method {
  std::string name;
  std::size_t match;  // index of the match it uses
  Answer answer;
};

// Hits of one method in one pair.
struct Hits {
  std::size_t parts = 0;
  std::size_t exact = 0;
  std::size_t within_one = 0;
};

bool is_near(std::size_t x, std::size_t y, GridShape shape) {
  const auto apart = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
  return apart(x / shape.cols, y / shape.cols) <= 1 && apart(x % shape.cols, y % shape.cols) <= 1;
}

Hits hits_of(const Method& method, const StructuralMatch& match,
             const std::vector<PartCell>& source, const std::vector<PartCell>& target,
             GridShape shape) {
  Hits hits;
  for (const PartCell& part : source) {
    const auto same = std::find_if(target.begin(), target.end(),
                                   [&](const PartCell& other) { return other.part == part.part; });
    if (same == target.end()) continue;
    ++hits.parts;
    const std::optional<std::size_t> said = method.answer(match, part.cell);
    if (!said) continue;
    hits.exact += *said == same->cell ? 1 : 0;
    hits.within_one += is_near(*said, same->cell, shape) ? 1 : 0;
  }
  return hits;
}

// The share of hits, and its standard error with the pair, not the part, as the unit.
std::pair<double, double> share_of(const std::vector<Hits>& hits, std::size_t Hits::*counted) {
  double parts = 0.0;
  double right = 0.0;
  for (const Hits& of_pair : hits) {
    parts += static_cast<double>(of_pair.parts);
    right += static_cast<double>(of_pair.*counted);
  }
  if (parts == 0.0) return {0.0, 0.0};
  const double share = right / parts;
  double squares = 0.0;
  for (const Hits& of_pair : hits) {
    const double off =
        static_cast<double>(of_pair.*counted) - share * static_cast<double>(of_pair.parts);
    squares += off * off;
  }
  return {share, std::sqrt(squares) / parts};
}

std::vector<MatchParams> matches_wanted(const MatchParams& params, GridShape shape) {
  MatchParams cross = params;
  cross.marginals = MarginalRule::cross_correlation;
  cross.source_shape = cross.target_shape = shape;
  MatchParams uniform = cross;
  uniform.marginals = MarginalRule::uniform;
  MatchParams prior = cross;
  // The exact solver has no prior: its row is left alone.
  if (params.transport.backend != Backend::exact) prior.prior = Prior::affine;
  std::vector<MatchParams> wanted = {cross, uniform, prior};
  if (is_available(Backend::exact)) {
    cross.transport.backend = Backend::exact;
    cross.prior = Prior::none;
    wanted.push_back(cross);
  }
  return wanted;
}

std::vector<Method> methods_of(std::size_t matches, GridShape shape) {
  std::vector<Method> methods = {{"transport, cross_correlation", 0, most_mass},
                                 {"transport, uniform", 1, most_mass},
                                 {"transport, affine prior", 2, most_mass}};
  if (matches > 3) methods.push_back({"transport, exact solver", 3, most_mass});
  methods.push_back({"nearest cosine", 0, [](const StructuralMatch& match, std::size_t cell) {
                       return largest_of(match.similarity, cell, match.plan.cols, -2.0);
                     }});
  methods.push_back({"same position", 0, [](const StructuralMatch&, std::size_t cell) {
                       return std::optional<std::size_t>(cell);
                     }});
  const std::size_t middle = shape.rows / 2 * shape.cols + shape.cols / 2;
  methods.push_back({"centre", 0, [middle](const StructuralMatch&, std::size_t) {
                       return std::optional<std::size_t>(middle);
                     }});
  return methods;
}

}  // namespace

std::vector<std::string> part_method_names() {
  std::vector<std::string> names;
  for (const Method& method : methods_of(matches_wanted({}, {1, 1}).size(), {1, 1})) {
    names.push_back(method.name);
  }
  return names;
}

std::vector<PartCell> cells_of_parts(std::span<const PartLocation> parts, std::size_t width,
                                     std::size_t height, std::size_t resize, std::size_t crop,
                                     GridShape shape) {
  // As resize_short_side and centre_crop do; the shift of half a pixel from a rounded side is
  // ignored.
  const double scale = static_cast<double>(resize) / static_cast<double>(std::min(width, height));
  const auto side = static_cast<double>(crop);
  const double left = (static_cast<double>(width) * scale - side) / 2.0;
  const double top = (static_cast<double>(height) * scale - side) / 2.0;
  std::vector<PartCell> seen;
  for (const PartLocation& part : parts) {
    const double x = part.x * scale - left;
    const double y = part.y * scale - top;
    if (x < 0.0 || y < 0.0 || x >= side || y >= side) continue;
    const auto row = static_cast<std::size_t>(y / side * static_cast<double>(shape.rows));
    const auto col = static_cast<std::size_t>(x / side * static_cast<double>(shape.cols));
    seen.push_back({part.part, row * shape.cols + col});
  }
  return seen;
}

std::vector<ImagePair> pairs_of_classes(std::span<const std::int64_t> labels, std::size_t count,
                                        std::uint64_t seed) {
  std::map<std::int64_t, std::vector<std::size_t>> of_class;
  for (std::size_t i = 0; i < labels.size(); ++i) of_class[labels[i]].push_back(i);
  std::vector<std::size_t> sources;
  std::size_t most = 0;
  for (const auto& [label, images] : of_class) {
    if (images.size() < 2) continue;
    sources.insert(sources.end(), images.begin(), images.end());
    most += images.size() * (images.size() - 1);
  }
  if (sources.empty()) {
    throw Error(
        "no class has two images with annotated parts: a pair needs two images of one class");
  }
  Random random(seed);
  std::set<std::pair<std::size_t, std::size_t>> drawn;
  std::vector<ImagePair> pairs;
  while (pairs.size() < std::min(count, most)) {
    const std::size_t source = sources[random.below(sources.size())];
    const std::vector<std::size_t>& mates = of_class[labels[source]];
    const std::size_t target = mates[random.below(mates.size())];
    if (target == source || !drawn.insert({source, target}).second) continue;
    pairs.push_back({source, target});
  }
  return pairs;
}

std::vector<PartMethod> judge_parts(const GridSetView& grids, GridShape shape,
                                    std::span<const std::vector<PartCell>> parts,
                                    std::span<const ImagePair> pairs, const PartTruthParams& params,
                                    const Progress& progress) {
  if (shape.count() != grids.cells_per_grid || parts.size() != grids.size) {
    throw Error("parts and grids are not of the same images");
  }
  const std::vector<MatchParams> wanted = matches_wanted(params.match, shape);
  const std::vector<Method> methods = methods_of(wanted.size(), shape);
  std::vector<std::vector<Hits>> hits(methods.size(), std::vector<Hits>(pairs.size()));
  const auto judge = [&](std::size_t k) {
    const ImagePair& pair = pairs[k];
    std::vector<StructuralMatch> matches;
    matches.reserve(wanted.size());
    for (const MatchParams& one : wanted) {
      matches.push_back(match(grids[pair.source], grids[pair.target], one));
    }
    for (std::size_t m = 0; m < methods.size(); ++m) {
      hits[m][k] = hits_of(methods[m], matches[methods[m].match], parts[pair.source],
                           parts[pair.target], shape);
    }
  };
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t first = 0; first < pairs.size(); first += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, pairs.size() - first);
    parallel_for(some, 1, params.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) judge(first + k);
    });
    progress(first + some, pairs.size());
  }
  std::vector<PartMethod> judged;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    PartMethod method;
    method.name = methods[m].name;
    for (const Hits& of_pair : hits[m]) method.parts += of_pair.parts;
    std::tie(method.exact, method.exact_error) = share_of(hits[m], &Hits::exact);
    std::tie(method.within_one, method.within_error) = share_of(hits[m], &Hits::within_one);
    judged.push_back(std::move(method));
  }
  return judged;
}

}  // namespace diml
