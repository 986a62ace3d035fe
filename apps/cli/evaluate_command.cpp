#include <charconv>

#include "command.h"
#include "diml/error.h"
#include "diml/evaluate.h"
#include "diml/grid_files.h"
#include "options.h"
#include "progress_bar.h"
#include "results.h"
#if DIML_HAS_NETWORKS
#include <chrono>

#include "diml/evaluate_dataset.h"
#include "network_options.h"
#endif

namespace diml::cli {
namespace {

// What lies in files.
struct Labelled {
  GridSet set;
  std::vector<std::int64_t> labels;
  std::vector<Role> roles;
};

struct EvaluateCommand {
  GridOptions grids;
#if DIML_HAS_NETWORKS
  NetworkOptions network;
  ImageOptions images;
  Evaluation of_network(ProcessGroup& processes);
  double embed_seconds = 0.0;
#endif
  MatchOptions match;
  std::string labels;
  std::string roles;
  std::vector<std::string> rerank = {"0", "100"};
  ScoreWeights weights{};
  std::size_t grid = 0;
  bool nmi = false;
  bool per_class = false;
  std::uint64_t seed = 0;
  std::string json;

  Labelled load() const;
  EvaluateParams params(std::size_t everything) const;
  Evaluation of_files(ProcessGroup& processes) const;
  void run();
  void tell(const Evaluation& evaluation, JsonOutput& output) const;
};

constexpr const char* kEverything = "all";

// What is wrong with a re-ranking depth; nothing on one that will do.
std::string is_depth(const std::string& text) {
  std::size_t depth = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, depth);
  if (text == kEverything || (error == std::errc() && stop == end)) return {};
  return "'" + text + "' is no depth: a number from 0 up, or " + kEverything;
}

Labelled EvaluateCommand::load() const {
  if (grids.cells.empty() || labels.empty()) {
    throw Error(
        "name what is evaluated: --cells C.npy --labels L.npy"
#if DIML_HAS_NETWORKS
        ", or --model M --dataset NAME --root DIR"
#endif
    );
  }
  Labelled loaded;
  loaded.set = load_grids(grids.cells, grids.globals, cell_type_from(grids.storage), match.threads,
                          progress_bar("load"));
  if (grid != 0 && grid * grid != loaded.set.cells_per_grid()) {
    throw Error(grids.cells + ": has " + std::to_string(loaded.set.cells_per_grid()) +
                " cells an image, --grid " + std::to_string(grid) + " means " +
                std::to_string(grid * grid) + ": embed with that grid, or leave --grid out");
  }
  loaded.labels = load_labels(labels, loaded.set.size());
  if (!roles.empty()) loaded.roles = load_roles(roles, loaded.set.size());
  return loaded;
}

EvaluateParams EvaluateCommand::params(std::size_t everything) const {
  EvaluateParams params;
  params.match = match.params();
  params.matcher = match.matcher;
  params.threads = match.threads;
  params.weights = weights;
  params.nmi = nmi;
  params.seed = seed;
  params.rerank.clear();
  for (const std::string& k : rerank) {
    params.rerank.push_back(k == kEverything ? everything : std::stoull(k));
  }
  return params;
}

Evaluation EvaluateCommand::of_files(ProcessGroup& processes) const {
  Labelled labelled = load();
  EvaluateParams how = params(labelled.labels.size());
  how.roles = std::move(labelled.roles);
  return evaluate_together(processes, labelled.set.view(), labelled.labels, how,
                           processes.writes() ? progress_bar("evaluate") : Progress{});
}

#if DIML_HAS_NETWORKS
Evaluation EvaluateCommand::of_network(ProcessGroup& processes) {
  using Clock = std::chrono::steady_clock;
  if (images.dataset.empty()) throw Error("--model needs --dataset NAME --root DIR");
  const LabelledImages chosen = images.load();
  if (grid != 0) network.grid = grid;
  const Clock::time_point start = Clock::now();
  Embedder embedder = network.open(match.threads);
  const double open_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  processes.expect_same(fingerprint_of(chosen, network.description()),
                        "images, another model or other options");
  const EvaluateDatasetParams how{
      {params(kRerankAll)}, images.bad(), cell_type_from(grids.storage)};
  DatasetEvaluation made = *evaluate_dataset(
      processes, embedder, chosen, how,
      {.on_embed = progress_bar("embed"), .on_evaluate = progress_bar("evaluate")});
  report_bad(made.bad, chosen.paths.size(), "");
  embed_seconds = open_seconds + made.embed_seconds;
  return processes.writes() ? std::move(made.evaluations.front()) : Evaluation{};
}
#endif

void EvaluateCommand::run() {
  (void)match.params();         // what is wrong is told before the files are read,
  make_matcher(match.matcher);  // a wrong name as well
  expect_own_files({grids.cells, grids.globals, labels, roles}, {json});
  const std::unique_ptr<ProcessGroup> processes = join_processes();
  JsonOutput output(processes->writes() ? json : "");
#if DIML_HAS_NETWORKS
  const Evaluation evaluation =
      network.model.empty() ? of_files(*processes) : of_network(*processes);
#else
  const Evaluation evaluation = of_files(*processes);
#endif
  if (processes->writes()) tell(evaluation, output);
  processes->wait_for_writer();
}

void EvaluateCommand::tell(const Evaluation& evaluation, JsonOutput& output) const {
  Json result = to_json(evaluation, per_class);
#if DIML_HAS_NETWORKS
  if (embed_seconds > 0.0) result["seconds"]["embed"] = embed_seconds;
#endif
  output.write(result);
  if (!output.takes_standard_output()) print_table(evaluation);
}

}  // namespace

Run define_evaluate(CLI::App& command) {
  auto options = std::make_shared<EvaluateCommand>();
  options->grids.define(command);
  command.add_option("--labels", options->labels, "Classes, .npy int64 [images]");
  command.add_option("--roles", options->roles,
                     "1 query, 2 gallery, 3 both; .npy int64 [images]; all are both unless said");
  command
      .add_option("--rerank", options->rerank,
                  "How many candidates are re-ranked, or all of the gallery; several with commas")
      ->delimiter(',')
      ->check(is_depth)
      ->capture_default_str();
  define_weights(command, options->weights);
  command
      .add_option(
          "--grid", options->grid,
          "Cells per side: of the network's grid (4 without it), or what the files must have")
      ->check(CLI::Range(1, 14));
#if DIML_HAS_NETWORKS
  options->network.define(command);
  options->images.define_dataset(command);
  for (const char* file : {"--cells", "--globals", "--labels", "--roles"}) {
    command.get_option("--model")->excludes(file);
  }
  command.get_option("--dataset")->needs("--model");
#endif
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
