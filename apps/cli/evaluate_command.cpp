#include <algorithm>
#include <charconv>

#include "base/stopwatch.h"
#include "command.h"
#include "diml/error.h"
#include "diml/evaluate.h"
#include "engine/evaluate_together.h"
#include "engine/grid_files.h"
#include "engine/rerank_gain.h"
#include "named_images.h"
#include "options.h"
#include "per_query.h"
#include "progress_bar.h"
#include "results.h"
#if DIML_HAS_NETWORKS

#include "calibrated.h"
#include "diml/evaluate_dataset.h"
#include "instructive_page.h"
#include "network_options.h"
#include "pictures.h"
#endif

namespace diml::cli {
namespace {

// Grids and labels in files.
struct Labelled {
  LoadedGrids loaded;
  LoadedLabels labels;
  std::vector<Role> roles;
};

struct EvaluateCommand {
  GridOptions grids;
#if DIML_HAS_NETWORKS
  NetworkOptions network;
  ImageOptions images;
  Evaluation of_network(ProcessGroup& processes);
  void take_calibration();
  // --html; on the root process.
  void draw(const Evaluation& evaluation, GridSetView set, GridShape shape,
            const NamedImages& named, Pictures pictures) const;
  double embed_seconds = 0.0;
#endif
  MatchOptions match;
  std::string labels;
  std::string roles;
  std::vector<std::string> rerank = {"0", "100"};
  ScoreWeights weights{};
  std::size_t grid = 0;
  bool no_calibration = false;
  const CLI::App* command = nullptr;  // tells which options were given
  bool nmi = false;
  bool per_class = false;
  std::uint64_t seed = 0;
  std::size_t resamples = 1000;
  std::string json;
  std::string paths;
  std::string per_query;
  std::string html;
  std::size_t html_queries = 6;
  std::vector<std::string> class_names{};  // of the labels, where they have names
  bool labels_are_names = false;
  std::unique_ptr<OutputFile> per_query_file{};  // of the root process
  std::unique_ptr<OutputFile> html_file{};

  Labelled load() const;
  EvaluateParams params(std::size_t everything) const;
  Evaluation of_files(ProcessGroup& processes);
  void run();
  void check() const;
  // --per-query; on the root process.
  void tell_queries(const Evaluation& evaluation, const NamedImages& named) const;
  void tell(const Evaluation& evaluation, JsonOutput& output) const;
};

constexpr const char* kEverything = "all";

// What is wrong with a re-ranking depth; empty for a valid one.
std::string is_depth(const std::string& text) {
  std::size_t depth = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, depth);
  if (text == kEverything || (error == std::errc() && stop == end)) return {};
  return "'" + text + "' is not a depth: use a number of 0 or more, or " + kEverything;
}

Labelled EvaluateCommand::load() const {
  if (grids.cells.empty() || labels.empty()) {
    throw Error(
        "name the images to evaluate: --cells C.npy --labels L.npy"
#if DIML_HAS_NETWORKS
        ", or --model M --dataset NAME --root DIR"
#endif
    );
  }
  Labelled labelled{grids.read(match.threads), {}, {}};
  const GridSet& set = labelled.loaded.grids;
  if (grid != 0 && grid * grid != set.cells_per_grid()) {
    throw Error(grids.cells + ": has " + std::to_string(set.cells_per_grid()) +
                " cells an image, --grid " + std::to_string(grid) + " means " +
                std::to_string(grid * grid) + ": embed with that grid, or leave --grid out");
  }
  labelled.labels = load_labels(labels, set.size());
  if (!roles.empty()) labelled.roles = load_roles(roles, set.size());
  return labelled;
}

EvaluateParams EvaluateCommand::params(std::size_t everything) const {
  EvaluateParams params;
  params.match = match.params();
  params.backend = match.backend;
  params.threads = match.threads;
  params.weights = weights;
  params.nmi = nmi;
  params.seed = seed;
  params.per_query = true;
  params.rerank.clear();
  for (const std::string& k : rerank) {
    params.rerank.push_back(k == kEverything ? everything : std::stoull(k));
  }
  return params;
}

Evaluation EvaluateCommand::of_files(ProcessGroup& processes) {
  Labelled labelled = load();
  const GridSetView set = labelled.loaded.grids.view();
  EvaluateParams how = params(set.size);
  class_names = labelled.labels.names;
  labels_are_names = true;
  how.roles = std::move(labelled.roles);
  how.match.source_shape = how.match.target_shape = labelled.loaded.shape();
  NamedImages named;
  if (!paths.empty()) named.paths = load_paths(paths, set.size);
  const Evaluation evaluation =
      evaluate_together(processes, set, labelled.labels.values, how,
                        processes.is_root() ? progress_bar("evaluate") : Progress{});
  if (!processes.is_root()) return evaluation;
  named.labels = std::move(labelled.labels.values);
  named.class_names = class_names;
  tell_queries(evaluation, named);
#if DIML_HAS_NETWORKS
  const std::size_t rows = labelled.loaded.rows;
  const GridShape shape =
      rows > 0 ? GridShape{rows, set.cells_per_grid / rows} : shape_of_cells(set.cells_per_grid);
  draw(evaluation, set, shape, named,
       {named, Orientation::exif, named_preprocessing(network.params.preprocessing)});
#endif
  return evaluation;
}

#if DIML_HAS_NETWORKS
void EvaluateCommand::take_calibration() {
  if (no_calibration) return;
  const std::optional<Calibration> calibration = calibration_of_model(network.params.model);
  if (!calibration) return;
  if (!network.params.projection || !network.params.preprocessing.empty()) {
    tell_at_end(
        "calibration not used: it is for the model's own projection and preprocessing, others "
        "were given");
    return;
  }
  if (grid == 0) grid = calibration->grid;
  const auto depth = use_calibration(calibration, grid, *command, {match.match, weights});
  if (depth) rerank = {"0", std::to_string(*depth)};
}

Evaluation EvaluateCommand::of_network(ProcessGroup& processes) {
  if (images.dataset.empty()) throw Error("--model needs --dataset NAME --root DIR");
  take_calibration();
  const LabelledImages chosen = images.load();
  class_names = chosen.class_names;
  labels_are_names = chosen.labels_are_names;
  EmbeddingParams embedding = network.with_threads(match.threads);
  if (grid != 0) embedding.grid = grid;
  const Stopwatch watch;
  Embedder embedder = open_embedder(embedding);
  const double open_seconds = watch.seconds();
  processes.expect_same(fingerprint_of(chosen, description_of(embedder)),
                        "images, another model or other options");
  const EvaluateDatasetParams how{{params(kRerankAll)}, images.bad(), grids.storage};
  EvaluateDatasetHooks hooks{.on_embed = progress_bar("embed"),
                             .on_evaluate = progress_bar("evaluate")};
  hooks.on_grids = [&](const Evaluation& evaluation, GridSetView set,
                       std::span<const std::size_t> kept) {
    NamedImages named{.class_names = chosen.class_names};
    for (const std::size_t image : kept) {
      named.paths.push_back(chosen.paths[image]);
      named.labels.push_back(chosen.labels[image]);
    }
    tell_queries(evaluation, named);
    draw(evaluation, set, shape_of_cells(set.cells_per_grid), named,
         {named, chosen.orientation, embedder.preprocessing()});
  };
  DatasetEvaluation made = evaluate_dataset_together(processes, embedder, chosen, how, hooks);
  report_bad(made.bad, chosen.paths.size(), "");
  embed_seconds = open_seconds + made.embed_seconds;
  return processes.is_root() ? std::move(made.evaluations.front()) : Evaluation{};
}

void EvaluateCommand::draw(const Evaluation& evaluation, GridSetView set, GridShape shape,
                           const NamedImages& named, Pictures pictures) const {
  if (!html_file) return;
  InstructivePage page;
  page.title = "What re-ranking changes";
  page.grids = set;
  page.shape = shape;
  page.match = match.params();
  // One pair does not go to a GPU; the others give the same to rounding.
  if (page.match.transport.backend == Backend::cuda) {
    page.match.transport.backend = Backend::fastest;
  }
  page.weights = weights;
  page.most = html_queries;
  html_file->write(
      instructive_page(page, compared_depths(evaluation), named, pictures, progress_bar("page")));
  html_file->commit();
  pictures.tell();
}
#endif

void EvaluateCommand::check() const {
  expect_per_query_name(per_query);
  if (per_query.empty() && html.empty()) return;
  const bool plain = std::any_of(rerank.begin(), rerank.end(), [](const std::string& k) {
    return k != kEverything && std::stoull(k) == 0;
  });
  const bool deeper = std::any_of(rerank.begin(), rerank.end(), [](const std::string& k) {
    return k == kEverything || std::stoull(k) > 0;
  });
  if (!plain || !deeper) {
    throw Error(
        "queries are compared before and after re-ranking: both are wanted, such as --rerank "
        "0,100");
  }
#if !DIML_HAS_NETWORKS
  if (!html.empty()) {
    throw Error(ErrorKind::unsupported,
                "this build draws no pages: see diml doctor, or write --per-query");
  }
#endif
}

void EvaluateCommand::tell_queries(const Evaluation& evaluation, const NamedImages& named) const {
  if (per_query_file) write_per_query(*per_query_file, compared_depths(evaluation), named);
}

void EvaluateCommand::run() {
  // Errors in the command line are reported before files are read.
  (void)match.params();
  make_matcher(match.backend);
  check();
  expect_own_files({grids.cells, grids.globals, labels, roles, paths}, {json, per_query, html});
  const std::unique_ptr<ProcessGroup> processes = join_processes();
  JsonOutput output(processes->is_root() ? json : "");
  if (processes->is_root()) {
    if (!per_query.empty()) per_query_file = std::make_unique<OutputFile>(per_query);
    if (!html.empty()) html_file = std::make_unique<OutputFile>(html);
  }
#if DIML_HAS_NETWORKS
  const Evaluation evaluation =
      network.params.model.empty() ? of_files(*processes) : of_network(*processes);
#else
  const Evaluation evaluation = of_files(*processes);
#endif
  if (processes->is_root()) tell(evaluation, output);
  processes->barrier();
}

void EvaluateCommand::tell(const Evaluation& evaluation, JsonOutput& output) const {
  Comparison comparison;
  comparison.bootstrap = {.resamples = resamples, .seed = seed, .threads = match.threads};
  comparison.depths = compare_depths(evaluation, comparison.bootstrap, progress_bar("bootstrap"));
  Json result = to_json(evaluation, comparison, per_class, class_names, labels_are_names);
#if DIML_HAS_NETWORKS
  if (embed_seconds > 0.0) result["seconds"]["embed"] = embed_seconds;
#endif
  output.write(result);
  if (!output.takes_standard_output()) print_table(evaluation, comparison);
}

}  // namespace

Run define_evaluate(CLI::App& command) {
  auto options = std::make_shared<EvaluateCommand>();
  options->grids.define(command);
  command.add_option("--labels", options->labels,
                     "Classes, .npy [images]: integers or words; -1 or an empty word for none");
  command.add_option("--paths", options->paths,
                     "Files of the images, one per line, as embed writes them: names and pictures");
  command.add_option("--roles", options->roles,
                     "1 query, 2 gallery, 3 both; .npy int64 [images]; without it all are both");
  command
      .add_option("--rerank", options->rerank,
                  "How many candidates are re-ranked, or all of the gallery; several with commas")
      ->delimiter(',')
      ->check(is_depth);
  define_weights(command, options->weights);
  options->command = &command;
  command
      .add_option("--grid", options->grid,
                  "Cells per side: of the network's grid (4 without it, or the calibrated one), or "
                  "what the files must have")
      ->check(CLI::Range(1, 14))
      ->default_str("");
#if DIML_HAS_NETWORKS
  options->network.define(command);
  options->images.define_dataset(command);
  define_no_calibration(command, options->no_calibration);
  for (const char* file : {"--cells", "--globals", "--labels", "--roles", "--paths"}) {
    command.get_option("--model")->excludes(file);
  }
  command.get_option("--dataset")->needs("--model");
#endif
  options->match.define(command);
  command.add_flag("--nmi", options->nmi,
                   "Also cluster the globals and print the mutual information");
  command.add_option("--seed", options->seed, "Random seed of the clustering and of the intervals");
  command
      .add_option("--resamples", options->resamples,
                  "Resamples of the queries (bootstrap) for the 95 % intervals; 0: no intervals")
      ->check(CLI::Range(0, 1000000));
  command.add_option("--per-query", options->per_query,
                     "What each query finds before and after re-ranking: .csv or .jsonl");
  command.add_option("--html", options->html,
                     "A page of the queries that re-ranking fixes, breaks and leaves wrong, each "
                     "with its explanation");
  command.add_option("--html-queries", options->html_queries, "Queries of each kind on that page")
      ->check(CLI::Range(1, 1000));
  CLI::Option* json =
      command.add_option("--json", options->json, "Results for programs; - for standard output");
  command.add_flag("--per-class", options->per_class, "Numbers of each class in the JSON file")
      ->needs(json);
  return [options] { options->run(); };
}

}  // namespace diml::cli
