#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>

#include "base/threads.h"
#include "bench_tools.h"
#include "command.h"
#include "diml/error.h"
#include "diml/generated.h"
#include "diml/retriever.h"
#include "options.h"

namespace diml::cli {
namespace {

struct Row;

struct BenchCommand {
  std::size_t grid = 4;
  std::size_t dim = 128;
  std::size_t images = 5000;
  std::size_t rerank = 100;
  int threads = 0;
  std::string json;

  void run() const;
  void print(const std::vector<Row>& rows, JsonOutput& output) const;
};

// Best of a few runs that together take about half a second.
double best_seconds_of(const std::function<void()>& work) {
  double best = 1e30;
  double spent = 0.0;
  for (int round = 0; round < 20 && (round < 2 || spent < 0.5); ++round) {
    const double seconds = seconds_of(work);
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

// Pairs as in re-ranking: the first stage's candidates of some queries.
std::vector<Pair> candidate_pairs(GridSetView grids, std::size_t rerank) {
  GridSetView queries = grids;
  queries.size = std::min<std::size_t>(grids.size, 200);
  std::vector<std::int64_t> themselves(queries.size);
  std::iota(themselves.begin(), themselves.end(), std::int64_t{0});
  const Ranking ranking = Retriever(grids).candidates(queries, rerank, themselves);
  std::vector<Pair> pairs;
  for (std::size_t q = 0; q < queries.size; ++q) {
    for (const std::int64_t id : ranking.ids_of(q)) {
      pairs.push_back({static_cast<std::int64_t>(q), id});
    }
  }
  return pairs;
}

struct Row {
  std::string matcher;
  CellType cells = CellType::float32;
  double pairs_per_second = 0.0;
  double iterations = 0.0;
  double largest_error = 0.0;
  std::vector<float> scores;
};

Row measure(Backend backend, GridSetView grids, std::span<const Pair> pairs, int threads) {
  Row row{
      .matcher = name_of(backend), .cells = grids.type, .scores = std::vector<float>(pairs.size())};
  std::vector<PairReport> reports(pairs.size());
  const auto matcher = make_matcher(backend, {threads});
  const PairBatch batch{grids, grids, pairs};
  matcher->score(batch, {}, row.scores, reports);
  const double seconds = best_seconds_of([&] { matcher->score(batch, {}, row.scores); });
  const double count = static_cast<double>(pairs.size());
  for (const PairReport& report : reports) row.iterations += report.iterations / count;
  row.pairs_per_second = count / seconds;
  return row;
}

void BenchCommand::run() const {
  if (grid < 1 || images < 2 || rerank < 1) {
    throw Error("--grid and --rerank must be at least 1, --images at least 2");
  }
  JsonOutput output(json);
  GeneratedParams made{
      .size = images, .classes = std::max<std::size_t>(1, images / 20), .grid = grid, .dim = dim};
  std::vector<Row> rows;
  std::vector<Pair> pairs;
  for (const CellType type :
       {CellType::float32, CellType::float16, CellType::bfloat16, CellType::int8}) {
    made.type = type;
    const GeneratedGrids generated = generate_grids(made);
    if (pairs.empty()) {
      pairs = candidate_pairs(generated.grids.view(), rerank);
      const std::size_t few =
          std::min(pairs.size(), std::max<std::size_t>(20, 4000 / (grid * grid)));
      rows.push_back(measure(Backend::reference, generated.grids.view(),
                             std::span(pairs).first(few), threads));
    }
    if (is_available(Backend::cpu)) {
      rows.push_back(measure(Backend::cpu, generated.grids.view(), pairs, threads));
    }
  }
  const std::vector<float>& truth = rows.front().scores;
  for (Row& row : rows) {
    for (std::size_t k = 0; k < truth.size(); ++k) {
      const double error = std::abs(row.scores[k] - truth[k]);
      row.largest_error = std::max(row.largest_error, error);
    }
  }
  print(rows, output);
}

void BenchCommand::print(const std::vector<Row>& rows, JsonOutput& output) const {
  const int used = thread_count(threads);
  Json report = {{"grid", grid}, {"dim", dim}, {"images", images}, {"threads", used}};
  report["rows"] = Json::array();
  for (const Row& row : rows) {
    report["rows"].push_back({{"matcher", row.matcher},
                              {"cells", name_of(row.cells)},
                              {"pairs_per_second", row.pairs_per_second},
                              {"iterations", row.iterations},
                              {"largest_error", row.largest_error}});
  }
  output.write(report);
  if (output.takes_standard_output()) return;

  std::printf("%zu generated grids of %zu x %zu x %zu, first-stage candidates, %d thread%s\n\n",
              images, grid, grid, dim, used, used == 1 ? "" : "s");
  std::printf("%-11s %-9s %14s %12s %16s\n", "matcher", "cells", "pairs/s", "iterations",
              "largest error");
  for (const Row& row : rows) {
    std::printf("%-11s %-9s %14.0f %12.1f %16.1e\n", row.matcher.c_str(), name_of(row.cells),
                row.pairs_per_second, row.iterations, row.largest_error);
  }
  std::printf("\nerrors are against the reference on float32 cells\n");
}

}  // namespace

Run define_bench(CLI::App& command) {
  auto options = std::make_shared<BenchCommand>();
  command.add_option("--grid", options->grid, "Cells per side")->check(CLI::Range(1, 14));
  command.add_option("--dim", options->dim, "Dimensions of a cell")->check(CLI::PositiveNumber);
  command.add_option("--images", options->images, "Size of the gallery")
      ->check(CLI::PositiveNumber);
  command.add_option("--rerank", options->rerank, "Candidates of each query")
      ->check(CLI::PositiveNumber);
  define_threads(command, options->threads);
  command.add_option("--json", options->json, "The table for programs; - for standard output");
  // Further benchmarks, each with options of its own.
  std::vector<std::pair<CLI::App*, Run>> others;
  [[maybe_unused]] const auto add = [&](const char* name, const char* about,
                                        Run (*define)(CLI::App&)) {
    CLI::App* other = command.add_subcommand(name, about);
    others.emplace_back(other, define(*other));
  };
#if DIML_HAS_NETWORKS
  add("network", "How fast this machine embeds photos", define_bench_network);
#endif
#if DIML_HAS_GALLERY
  add("gallery", "How fast a gallery is opened and searched", define_bench_gallery);
#endif
#if DIML_HAS_SERVER && DIML_HAS_DRAWING
  add("server", "How long a server takes to answer one photo", define_bench_server);
#endif
#if DIML_HAS_TRAINING
  add("train", "What structural matching costs in training", define_bench_train);
#endif
  return [options, others] {
    for (const auto& [other, run] : others) {
      if (other->parsed()) return run();
    }
    options->run();
  };
}

}  // namespace diml::cli
