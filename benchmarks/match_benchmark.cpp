#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "benchmarks.h"
#include "diml/generated.h"
#include "diml/matcher.h"
#include "diml/retriever.h"
#include "match/simd_targets.h"

namespace diml::benchmarks {
namespace {

constexpr std::size_t kDim = 128;
constexpr std::size_t kCandidates = 100;  // of each query, as the paper re-ranks

struct Shape {
  std::size_t grid;     // cells per side
  std::size_t images;   // a gallery of about 70 MB as float32: larger than the caches
  std::size_t queries;  // spread over the gallery, so that their candidates are too
  std::size_t few;      // pairs, for slow matchers

  std::string name() const {
    const std::string side = std::to_string(grid);
    return side + "x" + side + "x" + std::to_string(kDim);
  }
};
constexpr Shape kShapes[] = {{4, 8000, 400, 200}, {7, 3000, 100, 40}};

// Made on first use and kept: a filtered run makes only what it measures.
GridSetView gallery_of(const Shape& shape, CellType type) {
  static std::map<std::pair<std::size_t, CellType>, GridSet> galleries;
  GridSet& gallery = galleries[{shape.grid, type}];
  if (gallery.size() == 0) {
    gallery = generate_grids({.size = shape.images,
                              .classes = shape.images / 20,
                              .grid = shape.grid,
                              .dim = kDim,
                              .type = type})
                  .grids;
  }
  return gallery.view();
}

// Each query with its first-stage candidates: similar images, whose plans take as long as in
// retrieval.
std::vector<Pair> find_candidates(const Shape& shape) {
  const GridSetView gallery = gallery_of(shape, CellType::float32);
  const Retriever retriever(gallery);
  std::vector<Pair> pairs;
  for (std::size_t query = 0; query < shape.images; query += shape.images / shape.queries) {
    const GridView grid = gallery[query];
    const GridSetView alone{grid.cells, grid.type, 1, grid.count, grid.dim, grid.global};
    const std::int64_t itself = static_cast<std::int64_t>(query);
    const Ranking ranking = retriever.candidates(alone, kCandidates, std::span(&itself, 1));
    for (const std::int64_t id : ranking.ids_of(0)) pairs.push_back({itself, id});
  }
  return pairs;
}

const std::vector<Pair>& candidate_pairs(const Shape& shape) {
  static std::map<std::size_t, std::vector<Pair>> pairs;
  std::vector<Pair>& known = pairs[shape.grid];
  if (known.empty()) known = find_candidates(shape);
  return known;
}

// `count` of the pairs, from all queries and all ranks: 1 is added so that the step is no divisor
// of K.
std::vector<Pair> some_pairs(const std::vector<Pair>& pairs, std::size_t count) {
  std::vector<Pair> some;
  const std::size_t step = pairs.size() / count + 1;
  for (std::size_t k = 0; k < count; ++k) some.push_back(pairs[k * step % pairs.size()]);
  return some;
}

double mean_iterations(std::span<const PairReport> reports) {
  double sum = 0.0;
  for (const PairReport& report : reports) sum += report.iterations;
  return sum / static_cast<double>(reports.size());
}

struct Run {
  Shape shape;
  Backend backend = Backend::cpu;
  CellType type = CellType::float32;
  int threads = 1;
  bool sharp = false;  // a lambda beyond the range of float32

  MatchParams params() const {
    return {.transport = {.lambda = sharp ? 0.005 : TransportParams{}.lambda}};
  }
  std::string name() const {
    return std::string(name_of(backend)) + "/" + shape.name() + "/" + name_of(type) +
           "/threads:" + std::to_string(threads) + (sharp ? "/lambda:0.005" : "");
  }
};

void score_pairs(benchmark::State& state, const Run& run, std::span<const Pair> pairs) {
  const GridSetView grids = gallery_of(run.shape, run.type);
  const auto matcher = make_matcher(run.backend, {run.threads});
  std::vector<float> scores(pairs.size());
  std::vector<PairReport> reports(pairs.size());
  matcher->score({grids, grids, pairs}, run.params(), scores, reports);  // warms up, too
  for (auto _ : state) {
    matcher->score({grids, grids, pairs}, run.params(), scores);
    benchmark::DoNotOptimize(scores.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(pairs.size()));
  // Google Benchmark has a field "iterations" of its own. The network simplex has none of
  // Sinkhorn's.
  if (run.backend != Backend::exact) state.counters["sinkhorn"] = mean_iterations(reports);
}

// The next pair on every call, so that the candidate comes from memory, as in a search.
void score_one_pair(benchmark::State& state, const Run& run) {
  const GridSetView grids = gallery_of(run.shape, run.type);
  const std::vector<Pair>& pairs = candidate_pairs(run.shape);
  const auto matcher = make_matcher(run.backend, {run.threads});
  std::size_t next = 0;
  float score = 0.0f;
  for (auto _ : state) {
    matcher->score({grids, grids, std::span(&pairs[next], 1)}, run.params(), std::span(&score, 1));
    benchmark::DoNotOptimize(score);
    next = next + 1 < pairs.size() ? next + 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
}

void register_all_pairs(const Run& run) {
  benchmark::RegisterBenchmark(
      ("match/" + run.name()).c_str(),
      [run](benchmark::State& state) { score_pairs(state, run, candidate_pairs(run.shape)); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void register_few_pairs(const Run& run) {
  benchmark::RegisterBenchmark(("match/" + run.name()).c_str(),
                               [run](benchmark::State& state) {
                                 score_pairs(state, run,
                                             some_pairs(candidate_pairs(run.shape), run.shape.few));
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void register_simd_target(const Run& run, const std::string& target) {
  const std::string name = "match/" + run.name() + "/" + target;
  benchmark::RegisterBenchmark(name.c_str(),
                               [run, target](benchmark::State& state) {
                                 force_simd_target(target);
                                 score_pairs(state, run, candidate_pairs(run.shape));
                                 force_simd_target("");
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void register_one_pair(const Run& run) {
  benchmark::RegisterBenchmark(("match_one_pair/" + run.name()).c_str(),
                               [run](benchmark::State& state) { score_one_pair(state, run); })
      ->Unit(benchmark::kMicrosecond);
}

void register_cpu(const Shape& shape) {
  for (const CellType type :
       {CellType::float32, CellType::float16, CellType::bfloat16, CellType::int8}) {
    for (const int threads : thread_counts()) {
      register_all_pairs({.shape = shape, .type = type, .threads = threads});
    }
  }
  for (const std::string& target : simd_targets()) register_simd_target({.shape = shape}, target);
}

}  // namespace

void register_match_benchmarks() {
  for (const Shape& shape : kShapes) {
    if (is_available(Backend::cpu)) {
      register_cpu(shape);
      register_one_pair({.shape = shape});
      register_all_pairs({.shape = shape, .sharp = true});
    }
    for (const Backend backend : {Backend::reference, Backend::exact}) {
      if (is_available(backend)) register_few_pairs({.shape = shape, .backend = backend});
    }
    register_few_pairs({.shape = shape, .backend = Backend::reference, .sharp = true});
  }
}

}  // namespace diml::benchmarks
