#include "command.h"
#include "diml/error.h"
#include "diml/evaluate.h"
#include "diml/grid_files.h"
#include "options.h"
#include "progress_bar.h"
#include "results.h"

namespace diml::cli {
namespace {

struct EvaluateCommand {
  GridOptions grids;
  MatchOptions match;
  std::string labels;
  std::vector<std::int64_t> rerank = {0, 100};
  std::size_t grid = 0;
  bool nmi = false;
  bool per_class = false;
  std::uint64_t seed = 0;
  std::string json;

  void run() const;
};

void EvaluateCommand::run() const {
  EvaluateParams params;
  params.match = match.params();
  params.matcher = match.matcher;
  params.threads = match.threads;
  params.nmi = nmi;
  params.seed = seed;
  params.rerank.clear();
  for (const std::int64_t k : rerank) params.rerank.push_back(static_cast<std::size_t>(k));
  make_matcher(match.matcher);  // a wrong name is told before the files are read
  expect_own_files({grids.cells, grids.globals, labels}, {json});
  JsonOutput output(json);
  const GridSet set = load_grids(grids.cells, grids.globals, cell_type_from(grids.storage),
                                 match.threads, progress_bar("load"));
  if (grid != 0 && grid * grid != set.cells_per_grid()) {
    throw Error(grids.cells + ": has " + std::to_string(set.cells_per_grid()) +
                " cells an image, --grid " + std::to_string(grid) + " means " +
                std::to_string(grid * grid) + ": embed with that grid, or leave --grid out");
  }
  const std::vector<std::int64_t> label_values = load_labels(labels, set.size());
  const Evaluation evaluation =
      evaluate(set.view(), label_values, params, progress_bar("evaluate"));
  output.write(to_json(evaluation, per_class));
  if (!output.takes_standard_output()) print_table(evaluation);
}

}  // namespace

Run define_evaluate(CLI::App& command) {
  auto options = std::make_shared<EvaluateCommand>();
  options->grids.define(command);
  command.add_option("--labels", options->labels, "Classes, .npy int64 [images]")->required();
  command
      .add_option("--rerank", options->rerank,
                  "How many candidates are re-ranked; several with commas")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--grid", options->grid, "Cells per side that the files must have")
      ->check(CLI::Range(1, 14));
  options->match.define(command);
  command.add_flag("--nmi", options->nmi,
                   "Also cluster the globals and print the mutual information");
  command.add_option("--seed", options->seed, "Of the clustering")->capture_default_str();
  CLI::Option* json =
      command.add_option("--json", options->json, "Results for programs; - for standard output");
  command.add_flag("--per-class", options->per_class, "Numbers of each class in the JSON file")
      ->needs(json);
  return [options] { options->run(); };
}

}  // namespace diml::cli
