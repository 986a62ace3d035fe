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

#include "diml/embed_together.h"
#include "network_options.h"
#endif

namespace diml::cli {
namespace {

// What is evaluated, from files or fresh from a network.
struct Labelled {
  GridSet set;
  std::vector<std::int64_t> labels;
  std::vector<Role> roles;
  double embed_seconds = 0.0;

  // Shorter than the set where images were left out.
  GridSetView view() const {
    GridSetView grids = set.view();
    grids.size = labels.size();
    return grids;
  }
};

struct EvaluateCommand {
  GridOptions grids;
#if DIML_HAS_NETWORKS
  NetworkOptions network;
  ImageOptions images;
  Labelled embed(ProcessGroup& processes);
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
  void run();
  void tell(const Evaluation& evaluation, double embed_seconds, JsonOutput& output) const;
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

#if DIML_HAS_NETWORKS
Labelled EvaluateCommand::embed(ProcessGroup& processes) {
  if (images.dataset.empty()) throw Error("--model needs --dataset NAME --root DIR");
  const ImageOptions::Images chosen = images.load();
  if (grid != 0) network.grid = grid;
  const auto start = std::chrono::steady_clock::now();
  Embedder embedder = network.open(match.threads);
  processes.expect_same(fingerprint_of(chosen.list, network.description()),
                        "images, another model or other options");
  const EmbedFilesParams how{chosen.orientation, images.bad(), cell_type_from(grids.storage)};
  EmbeddedFiles files =
      *embed_to_memory(processes, embedder, chosen.list.paths, how, progress_bar("embed"));
  Labelled made;
  made.set = std::move(files.set);
  for (const std::size_t index : files.kept) {
    made.labels.push_back(chosen.list.labels[index]);
    if (!chosen.list.roles.empty()) {
      made.roles.push_back(static_cast<Role>(chosen.list.roles[index]));
    }
  }
  report_bad(files.bad, chosen.list.paths.size(), "");
  made.embed_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return made;
}
#endif

void EvaluateCommand::run() {
  EvaluateParams params;
  params.match = match.params();
  params.matcher = match.matcher;
  params.threads = match.threads;
  params.weights = weights;
  params.nmi = nmi;
  params.seed = seed;
  make_matcher(match.matcher);  // a wrong name is told before the files are read
  expect_own_files({grids.cells, grids.globals, labels, roles}, {json});
  const std::unique_ptr<ProcessGroup> processes = join_processes();
  JsonOutput output(processes->writes() ? json : "");
#if DIML_HAS_NETWORKS
  Labelled labelled = network.model.empty() ? load() : embed(*processes);
  // Grids from files are everywhere, fresh ones where they are evaluated: embedding them was the
  // work.
  const bool together = network.model.empty();
#else
  Labelled labelled = load();
  const bool together = true;
#endif
  params.roles = std::move(labelled.roles);
  params.rerank.clear();
  for (const std::string& k : rerank) {
    params.rerank.push_back(k == kEverything ? labelled.labels.size() : std::stoull(k));
  }
  Evaluation evaluation;
  if (together || processes->writes()) {
    ProcessGroup alone;
    evaluation =
        evaluate_together(together ? *processes : alone, labelled.view(), labelled.labels, params,
                          processes->writes() ? progress_bar("evaluate") : Progress{});
  }
  if (processes->writes()) tell(evaluation, labelled.embed_seconds, output);
  processes->wait_for_writer();
}

void EvaluateCommand::tell(const Evaluation& evaluation, double embed_seconds,
                           JsonOutput& output) const {
  Json result = to_json(evaluation, per_class);
  if (embed_seconds > 0.0) result["seconds"]["embed"] = embed_seconds;
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
