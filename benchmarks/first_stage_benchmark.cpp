#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "benchmarks.h"
#include "diml/candidates.h"
#include "diml/generated.h"

namespace diml::benchmarks {
namespace {

constexpr std::size_t kGallery = 20000;
constexpr std::size_t kDepth = 100;

// Grids of 2 x 2: the first stage sees the globals only.
VectorsView gallery_globals() {
  static const GeneratedGrids generated =
      generate_grids({.size = kGallery, .classes = kGallery / 20, .grid = 2, .dim = 128});
  const GridSetView grids = generated.grids.view();
  return {grids.globals, grids.size, grids.dim};
}

// Queries are images of the gallery that must not find themselves, as in an evaluation.
void search(benchmark::State& state, std::size_t queries, int threads) {
  const VectorsView gallery = gallery_globals();
  const std::unique_ptr<CandidateSource> source = make_exact_source(gallery, threads);
  std::vector<std::int64_t> themselves(queries);
  std::iota(themselves.begin(), themselves.end(), std::int64_t{0});
  for (auto _ : state) {
    Ranking ranking = source->nearest({{gallery.data, queries, gallery.dim}, kDepth, themselves});
    benchmark::DoNotOptimize(ranking.ids.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(queries));
}

}  // namespace

void register_first_stage_benchmarks() {
  for (const std::size_t queries : {1, 256}) {
    for (const int threads : thread_counts()) {
      const std::string name = "first_stage/exact/" + std::to_string(kGallery) +
                               "x128/queries:" + std::to_string(queries) +
                               "/threads:" + std::to_string(threads);
      benchmark::RegisterBenchmark(
          name.c_str(),
          [queries, threads](benchmark::State& state) { search(state, queries, threads); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace diml::benchmarks
