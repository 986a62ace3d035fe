#include <algorithm>
#include <functional>
#include <map>

#include "base/threads.h"
#include "pair_scores.h"

namespace diml::python {
namespace {

// Of matching between two looks at Ctrl-C, in pairs of cells: a fraction of a second.
constexpr std::size_t kWorkAtOnce = std::size_t{1} << 25;

// The same of scores in double precision, which take a hundred times as long.
constexpr std::size_t kSlowWorkAtOnce = kWorkAtOnce / 128;

std::size_t pairs_at_once(const Matcher& matcher, PairScore score, const GridSetView& from,
                          const GridSetView& to) {
  const bool is_slow = score == PairScore::maxsim || matcher.backend() == Backend::reference ||
                       matcher.backend() == Backend::exact;
  const std::size_t of_pair = from.cells_per_grid * to.cells_per_grid;
  return std::max<std::size_t>(is_slow ? 16 : 256,
                               (is_slow ? kSlowWorkAtOnce : kWorkAtOnce) / of_pair);
}

float maxsim(GridView source, GridView target) {
  double sum = 0.0;
  for (std::size_t i = 0; i < source.count; ++i) {
    double best = -2.0;
    for (std::size_t j = 0; j < target.count; ++j) {
      const float* a = static_cast<const float*>(source.cells) + i * source.dim;
      const float* b = static_cast<const float*>(target.cells) + j * target.dim;
      double dot = 0.0;
      for (std::size_t d = 0; d < source.dim; ++d) dot += static_cast<double>(a[d]) * b[d];
      best = std::max(best, dot);
    }
    sum += best;
  }
  return static_cast<float>(sum / static_cast<double>(source.count));
}

std::vector<Pair> pairs_of(const py::array_t<std::int64_t, py::array::c_style>& array,
                           const Grids& sources, const Grids& targets) {
  if (array.ndim() != 2 || array.shape(1) != 2) {
    throw Error("pairs is [pairs, 2]: a (source, target) in each row");
  }
  std::vector<Pair> pairs(static_cast<std::size_t>(array.shape(0)));
  const std::int64_t* values = array.data();
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    pairs[k] = {values[2 * k], values[2 * k + 1]};
    const auto inside = [](std::int64_t id, std::size_t size) {
      return id >= 0 && static_cast<std::size_t>(id) < size;
    };
    if (!inside(pairs[k].source, sources.size()) || !inside(pairs[k].target, targets.size())) {
      throw Error("pair " + std::to_string(k) + " is (" + std::to_string(pairs[k].source) + ", " +
                  std::to_string(pairs[k].target) + "), but there are " +
                  std::to_string(sources.size()) + " sources and " +
                  std::to_string(targets.size()) + " targets, counted from 0");
    }
  }
  return pairs;
}

void expect_one_dim(const Grids& sources, const Grids& targets) {
  if (sources.dim() != targets.dim()) {
    throw Error("the sources have " + std::to_string(sources.dim()) + "-d cells, the targets " +
                std::to_string(targets.dim()) + "-d ones: embed both with one model");
  }
}

py::array_t<float> similarity(const std::shared_ptr<Grids>& sources,
                              const std::shared_ptr<Grids>& targets, const py::object& pairs,
                              const std::string& score, const std::string& backend,
                              const MatchParams& params, const py::object& progress) {
  expect_one_dim(*sources, *targets);
  const PairScore kind = pair_score_from(score);
  const auto matcher = matcher_for(backend);
  const Progress report = progress_to(progress);
  if (!pairs.is_none()) {
    const std::vector<Pair> listed = pairs_of(
        py::array_t<std::int64_t, py::array::c_style>(py::reinterpret_borrow<py::object>(pairs)),
        *sources, *targets);
    py::array_t<float> scores(static_cast<py::ssize_t>(listed.size()));
    const std::span<float> out(scores.mutable_data(), listed.size());
    const py::gil_scoped_release without_gil;
    score_pairs(*matcher, params, kind, *sources, *targets, listed, out, report);
    return scores;
  }
  const std::size_t columns = targets->size();
  const std::size_t total = sources->size() * columns;
  py::array_t<float> scores(
      {static_cast<py::ssize_t>(sources->size()), static_cast<py::ssize_t>(columns)});
  const std::span<float> out(scores.mutable_data(), total);
  const py::gil_scoped_release without_gil;
  // Some rows at a time: the list of all pairs may be larger than the result.
  constexpr std::size_t kPairsListed = std::size_t{1} << 20;
  const std::size_t rows = std::max<std::size_t>(1, kPairsListed / columns);
  std::vector<Pair> some;
  for (std::size_t first = 0; first < sources->size(); first += rows) {
    const std::size_t end = std::min(sources->size(), first + rows);
    some.clear();
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        some.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
      }
    }
    const Progress within(
        [&](std::size_t done, std::size_t) { report(first * columns + done, total); },
        [&] { return report.cancelled(); });
    score_pairs(*matcher, params, kind, *sources, *targets, some,
                out.subspan(first * columns, some.size()), within);
  }
  return scores;
}

// The scores of pairs of two sets of one shape each, some at a time. progress: asked whether it is
// cancelled.
void score_sets(const Matcher& matcher, const MatchParams& params, PairScore score,
                const GridSetView& from, const GridSetView& to, std::span<const Pair> pairs,
                std::span<float> scores, const std::function<void(std::size_t done)>& report,
                const Progress& progress) {
  const std::size_t at_once = pairs_at_once(matcher, score, from, to);
  for (std::size_t first = 0; first < pairs.size(); first += at_once) {
    const auto some = pairs.subspan(first, std::min(at_once, pairs.size() - first));
    const auto values = scores.subspan(first, some.size());
    if (score == PairScore::structural) {
      matcher.score({from, to, some}, params, values, {}, Quantity::similarity, progress);
    } else {
      parallel_for(
          some.size(), 4, threads(),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t k = begin; k < end; ++k) {
              values[k] = maxsim(from[static_cast<std::size_t>(some[k].source)],
                                 to[static_cast<std::size_t>(some[k].target)]);
            }
          },
          progress);
    }
    report(first + some.size());
  }
}

}  // namespace

PairScore pair_score_from(const std::string& name) {
  if (name == "structural") return PairScore::structural;
  if (name == "maxsim") return PairScore::maxsim;
  throw Error("unknown score '" + name + "': structural or maxsim");
}

void score_pairs(const Matcher& matcher, const MatchParams& params, PairScore score,
                 const Grids& sources, const Grids& targets, std::span<const Pair> pairs,
                 std::span<float> scores, const Progress& progress) {
  if (sources.groups().size() == 1 && targets.groups().size() == 1) {
    score_sets(
        matcher, params, score, sources.groups()[0], targets.groups()[0], pairs, scores,
        [&](std::size_t done) { progress(done, pairs.size()); }, progress);
    return;
  }
  // Pairs of one shape on each side, in their order.
  struct Share {
    std::vector<Pair> pairs;          // places in the groups
    std::vector<std::size_t> places;  // in `scores`
  };
  std::map<std::pair<std::size_t, std::size_t>, Share> shares;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const Grids::Place source = sources.place(static_cast<std::size_t>(pairs[k].source));
    const Grids::Place target = targets.place(static_cast<std::size_t>(pairs[k].target));
    Share& share = shares[{source.group, target.group}];
    share.pairs.push_back(
        {static_cast<std::int64_t>(source.index), static_cast<std::int64_t>(target.index)});
    share.places.push_back(k);
  }
  std::size_t done = 0;
  std::vector<float> values;
  for (const auto& [groups, share] : shares) {
    const GridSetView from = sources.groups()[groups.first];
    const GridSetView to = targets.groups()[groups.second];
    values.resize(share.pairs.size());
    score_sets(
        matcher, params, score, from, to, share.pairs, values,
        [&](std::size_t some) { progress(done + some, pairs.size()); }, progress);
    for (std::size_t k = 0; k < values.size(); ++k) scores[share.places[k]] = values[k];
    done += values.size();
  }
}

void bind_pairs(py::module_& module) {
  py::class_<MatchParams>(module, "MatchParams")
      .def(py::init(&match_params))
      .def(py::pickle(&state_of, &params_of));
  module.def("similarity", &similarity);
}

}  // namespace diml::python
