#include <algorithm>
#include <limits>

#include "diml/candidates.h"
#include "pair_scores.h"

namespace diml::python {
namespace {

using Ids = py::array_t<std::int64_t, py::array::c_style>;

constexpr std::size_t kPlacesAtOnce = std::size_t{1} << 20;  // of ranked lists

struct Searching {
  const Matcher& matcher;
  const MatchParams& params;
  PairScore score;
  ScoreWeights weights;
};

// Orders `head` of the candidates of some queries, from `begin` on, by the weighted sum of cosine
// and score; the rest keep their order and their cosine. ids: [count, depth], -1 for none. out_*:
// [count, k].
void order(const Searching& how, const Grids& queries, std::size_t begin, const Grids& gallery,
           std::span<const std::int64_t> ids, std::size_t depth, std::size_t head, std::size_t k,
           std::span<float> out_scores, std::span<std::int64_t> out_ids, const Progress& progress) {
  const std::size_t count = out_ids.size() / k;
  std::vector<std::vector<std::int64_t>> lists(count);
  std::vector<Pair> pairs;
  for (std::size_t q = 0; q < count; ++q) {
    for (const std::int64_t id : ids.subspan(q * depth, depth)) {
      if (id == -1) continue;
      lists[q].push_back(id);
      if (lists[q].size() <= head) pairs.push_back({static_cast<std::int64_t>(begin + q), id});
    }
  }
  std::vector<float> scores(pairs.size());
  score_pairs(how.matcher, how.params, how.score, queries, gallery, pairs, scores, progress);
  std::fill(out_scores.begin(), out_scores.end(), -std::numeric_limits<float>::infinity());
  std::fill(out_ids.begin(), out_ids.end(), std::int64_t{-1});
  std::size_t first = 0;
  for (std::size_t q = 0; q < count; ++q) {
    const std::vector<std::int64_t>& list = lists[q];
    std::vector<const float*> vectors;
    for (const std::int64_t id : list) {
      vectors.push_back(gallery[static_cast<std::size_t>(id)].global);
    }
    const std::vector<float> cosine = cosines({queries[begin + q].global, queries.dim()}, vectors);
    const std::span<const float> own =
        std::span<const float>(scores).subspan(first, std::min(head, list.size()));
    first += own.size();
    std::vector<std::size_t> places = rank(list, cosine, own, how.weights);
    for (std::size_t place = places.size(); place < list.size(); ++place) places.push_back(place);
    for (std::size_t n = 0; n < std::min(k, places.size()); ++n) {
      const std::size_t place = places[n];
      out_ids[q * k + n] = list[place];
      out_scores[q * k + n] =
          place < own.size() ? how.weights.total(cosine[place], own[place]) : cosine[place];
    }
    progress.cancelled();
  }
}

void check_candidates(std::span<const std::int64_t> ids, std::size_t gallery) {
  for (const std::int64_t id : ids) {
    if (id < -1 || (id >= 0 && static_cast<std::size_t>(id) >= gallery)) {
      throw Error("candidates name image " + std::to_string(id) + ", but the gallery has " +
                  std::to_string(gallery) + ", counted from 0");
    }
  }
}

py::tuple results(std::size_t queries, std::size_t k) {
  const std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(queries),
                                          static_cast<py::ssize_t>(k)};
  return py::make_tuple(py::array_t<float>(shape), py::array_t<std::int64_t>(shape));
}

// candidates: [queries, depth], or None: the `depth` nearest by the cosine of the globals.
py::tuple search(const std::shared_ptr<Grids>& queries, const std::shared_ptr<Grids>& gallery,
                 const py::object& candidates, std::size_t depth, std::size_t head, std::size_t k,
                 std::pair<float, float> weights, const std::string& score,
                 const std::string& backend, const MatchParams& params,
                 const py::object& progress) {
  if (queries->dim() != gallery->dim()) {
    throw Error("the queries have " + std::to_string(queries->dim()) + "-d cells, the gallery " +
                std::to_string(gallery->dim()) + "-d ones: embed both with one model");
  }
  if (k == 0) throw Error("k is 1 or more: how many images are found for each query");
  const ScoreWeights how_much{weights.first, weights.second};
  check(how_much);
  const auto matcher = matcher_for(backend);
  const Searching how{*matcher, params, pair_score_from(score), how_much};
  const Progress report = progress_to(progress);
  Ids listed;
  if (!candidates.is_none()) {
    listed = Ids(py::reinterpret_borrow<py::object>(candidates));
    if (listed.ndim() != 2 || static_cast<std::size_t>(listed.shape(0)) != queries->size()) {
      throw Error("candidates is [queries, depth]: the ids of a first search, -1 for none");
    }
    depth = static_cast<std::size_t>(listed.shape(1));
    head = depth;
  }
  py::tuple found = results(queries->size(), k);
  auto scores = found[0].cast<py::array_t<float>>();
  auto ids = found[1].cast<py::array_t<std::int64_t>>();
  const std::size_t places = queries->size() * k;
  const std::span<float> out_scores(scores.mutable_data(), places);
  const std::span<std::int64_t> out_ids(ids.mutable_data(), places);
  const std::span<const std::int64_t> given(listed.data(), static_cast<std::size_t>(listed.size()));
  const bool is_given = !candidates.is_none();
  {
    const py::gil_scoped_release without_gil;
    std::unique_ptr<CandidateSource> source;
    if (is_given) {
      check_candidates(given, gallery->size());
    } else {
      depth = std::min(depth, gallery->size());
      head = std::min(head, depth);
      source = make_exact_source(gallery->globals(), threads());
    }
    // Some queries at a time: all lists of a first stage may be larger than the result. The
    // progress is in pairs, or in queries where none is matched.
    const std::size_t at_once =
        std::clamp<std::size_t>(kPlacesAtOnce / std::max<std::size_t>(1, depth), 64, 8192);
    const std::size_t of_query = std::max<std::size_t>(1, head);
    const std::size_t total = queries->size() * of_query;
    const VectorsView asked = queries->globals();
    for (std::size_t first = 0; first < queries->size(); first += at_once) {
      const std::size_t count = std::min(at_once, queries->size() - first);
      std::span<const std::int64_t> lists = given;
      Ranking ranking;
      if (is_given) {
        lists = given.subspan(first * depth, count * depth);
      } else {
        ranking = source->nearest({.queries = {asked.data + first * asked.dim, count, asked.dim},
                                   .depth = depth,
                                   .progress = report});
        lists = ranking.ids;
      }
      const Progress within(
          [&](std::size_t done, std::size_t) { report(first * of_query + done, total); },
          [&] { return report.cancelled(); });
      order(how, *queries, first, *gallery, lists, depth, head, k,
            out_scores.subspan(first * k, count * k), out_ids.subspan(first * k, count * k),
            within);
      report((first + count) * of_query, total);
    }
  }
  return found;
}

}  // namespace

void bind_search(py::module_& module) { module.def("search", &search); }

}  // namespace diml::python
