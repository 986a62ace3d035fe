#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>

#include "command.h"
#include "diml/error.h"
#include "diml/generated.h"
#include "diml/retriever.h"
#include "diml/threads.h"

namespace diml::cli {
namespace {

struct BenchCommand {
  std::size_t grid = 4;
  std::size_t dim = 128;
  std::size_t images = 5000;
  std::size_t rerank = 100;
  int threads = 0;
  std::string json;

  void run() const;
};

// Best of a few runs that together take about half a second.
double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  double spent = 0.0;
  for (int round = 0; round < 20 && (round < 2 || spent < 0.5); ++round) {
    const auto start = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

void BenchCommand::run() const {
  if (grid < 1 || images < 2 || rerank < 1) {
    throw Error("--grid and --rerank must be at least 1, --images at least 2");
  }
  if (threads < 0) throw Error("--threads must be 0 (all cores) or more");
  const std::size_t classes = std::max<std::size_t>(1, images / 20);
  const int used = threads > 0 ? threads : default_threads();
  const MatchParams params;
  Json rows = Json::array();
  std::printf("%zu generated grids of %zu x %zu x %zu, candidates from the first stage, %d thread%s\n\n",
              images, grid, grid, dim, used, used == 1 ? "" : "s");
  std::printf("%-11s %-9s %14s %12s %16s\n", "matcher", "cells", "pairs/s", "iterations", "largest error");

  std::vector<float> truth;
  std::vector<Pair> pairs;
  const auto measure = [&](const char* matcher_name, CellType type, std::size_t most_pairs) {
    const GeneratedGrids generated = generate_grids(
        {.size = images, .classes = classes, .grid = grid, .dim = dim, .type = type});
    const GridSetView grids = generated.grids.view();
    if (pairs.empty()) {
      const std::size_t queries = std::min<std::size_t>(images, 200);
      GridSetView some = grids;
      some.size = queries;
      std::vector<std::int64_t> themselves(queries);
      for (std::size_t q = 0; q < queries; ++q) themselves[q] = static_cast<std::int64_t>(q);
      const Ranking ranking = Retriever(grids).candidates(some, rerank, themselves);
      for (std::size_t q = 0; q < queries; ++q) {
        for (const std::int64_t id : ranking.ids_of(q)) pairs.push_back({static_cast<std::int64_t>(q), id});
      }
    }
    const auto some = std::span(pairs).first(std::min(most_pairs, pairs.size()));
    std::vector<float> scores(some.size());
    std::vector<PairReport> reports(some.size());
    const auto matcher = make_matcher(matcher_name, {threads});
    matcher->score({grids, grids, some}, params, scores, reports);
    const double seconds = seconds_of([&] { matcher->score({grids, grids, some}, params, scores); });
    double iterations = 0.0;
    double error = 0.0;
    if (truth.empty()) truth = scores;
    for (std::size_t k = 0; k < some.size(); ++k) {
      iterations += reports[k].iterations / static_cast<double>(some.size());
      if (k < truth.size()) error = std::max(error, static_cast<double>(std::abs(scores[k] - truth[k])));
    }
    const double rate = static_cast<double>(some.size()) / seconds;
    std::printf("%-11s %-9s %14.0f %12.1f %16.1e\n", matcher_name, name_of(type), rate, iterations, error);
    rows.push_back({{"matcher", matcher_name},
                    {"cells", name_of(type)},
                    {"pairs_per_second", rate},
                    {"iterations", iterations},
                    {"largest_error", error}});
  };
  measure("reference", CellType::float32, std::max<std::size_t>(20, 4000 / (grid * grid)));
  if (is_available(Solver::cpu)) {
    for (const CellType type : {CellType::float32, CellType::float16, CellType::bfloat16}) {
      measure("cpu", type, pairs.size());
    }
  }
  std::printf("\nerrors are against the reference on float32 cells\n");
  if (!json.empty()) {
    write_json(json, {{"grid", grid}, {"dim", dim}, {"images", images}, {"threads", used}, {"rows", rows}});
  }
}

}  // namespace

Run define_bench(CLI::App& command) {
  auto options = std::make_shared<BenchCommand>();
  command.add_option("--grid", options->grid, "Cells per side")->capture_default_str();
  command.add_option("--dim", options->dim, "Dimensions of a cell")->capture_default_str();
  command.add_option("--images", options->images, "Size of the gallery")->capture_default_str();
  command.add_option("--rerank", options->rerank, "Candidates of each query")->capture_default_str();
  command.add_option("--threads", options->threads, "Threads; 0 for all cores")->capture_default_str();
  command.add_option("--json", options->json, "The table for programs; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
