#include <algorithm>
#include <cstdio>
#include <set>

#include "base/shown_text.h"
#include "command.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "engine/calibrate_dataset.h"
#include "engine/grid_files.h"
#include "engine/open_network.h"
#include "failure.h"
#include "interrupt.h"
#include "models/model.h"
#include "network_options.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct CalibrateCommand {
  GridOptions files;
  std::string labels;
  std::string roles;
  NetworkOptions network;
  ImageOptions images;
  bool held_out = false;
  std::vector<std::size_t> grids = {4, 7};
  CalibrateParams how{};
  std::string out;
  std::string json;

  void run();

 private:
  CalibrationResult of_files() const;
  CalibrationResult of_network() const;
  LabelledImages training_images() const;
  void tell(const CalibrationResult& result, JsonOutput& output) const;
};

std::size_t side_of(const LoadedGrids& loaded) {
  const GridShape shape =
      loaded.rows > 0 ? loaded.shape() : shape_of_cells(loaded.grids.cells_per_grid());
  if (shape.rows == shape.cols) return shape.rows;
  throw Error("the grids are " + std::to_string(shape.rows) + " x " + std::to_string(shape.cols) +
              ": calibration is for square grids");
}

CalibrationResult CalibrateCommand::of_files() const {
  if (labels.empty()) throw Error("grids in files need their classes: --labels L.npy");
  const LoadedGrids loaded = files.read(how.threads);
  const LoadedLabels classes = load_labels(labels, loaded.grids.size());
  const CalibrationGrids one{side_of(loaded), loaded.grids.view()};
  CalibrateParams with_roles = how;
  if (!roles.empty()) with_roles.roles = load_roles(roles, loaded.grids.size());
  const Interrupt interrupt;
  CalibrationResult result = calibrate({&one, 1}, classes.values, with_roles,
                                       progress_bar("calibrate").with(Interrupt::asked));
  result.chosen.data = files.cells;
  return result;
}

LabelledImages CalibrateCommand::training_images() const {
  const Split split = images.split ? *images.split : Split::train;
  Dataset data = load_dataset(images.dataset, images.root, split);
  tell_left_out(data, images.root, split);
  if (held_out) {
    const std::set<std::int64_t> kept = held_out_classes(data);
    if (kept.empty()) throw Error(images.root + ": there are too few classes to hold a fifth out");
    const std::size_t all = data.samples.size();
    std::erase_if(data.samples, [&](const Sample& one) { return !kept.contains(one.label); });
    tell_at_end(images.root + ": " + std::to_string(data.samples.size()) + " of these " +
                std::to_string(all) + " images, those of the " + std::to_string(kept.size()) +
                " held-out classes");
  }
  LabelledImages chosen = labelled_images(data);
  tell_without_role(chosen, images.root);
  if (chosen.paths.empty()) throw Error(images.root + ": its training classes have no images");
  return chosen;
}

CalibrationResult CalibrateCommand::of_network() const {
  const LabelledImages chosen = training_images();
  const Interrupt interrupt;
  const auto open = [&](std::size_t grid) {
    EmbeddingParams params = network.with_threads(how.threads);
    params.grid = grid;
    return open_embedder(params);
  };
  const auto bar = [](std::size_t grid) {
    const std::string side = std::to_string(grid);
    return progress_bar("embed " + side + " x " + side).with(Interrupt::asked);
  };
  DatasetCalibration made = calibrate_dataset(
      open, chosen, {grids, how, images.bad(), files.storage},
      {.on_embed = bar, .on_calibrate = progress_bar("calibrate").with(Interrupt::asked)});
  report_bad(made.bad, chosen.paths.size(), "");
  CalibrationResult result = std::move(made.result);
  result.chosen.data = images.dataset + (held_out ? ", held-out training classes" : "") +
                       (images.split ? std::string(", ") + name_of(*images.split) + " split" : "");
  return result;
}

Json to_json(const Calibration& calibration) {
  return {{"grid", calibration.grid},
          {"lambda", calibration.lambda},
          {"structural_weight", calibration.structural_weight},
          {"rerank", calibration.rerank}};
}

void CalibrateCommand::tell(const CalibrationResult& result, JsonOutput& output) const {
  const Calibration& chosen = result.chosen;
  Json report = {{"chosen", to_json(chosen)},
                 {"changed", result.changed},
                 {"criterion", chosen.criterion},
                 {"value", chosen.value},
                 {"paper", chosen.paper},
                 {"gain_error", chosen.gain_error},
                 {"images", chosen.images},
                 {"unlabelled", result.unlabelled},
                 {"classes", chosen.classes},
                 {"folds", chosen.folds},
                 {"data", chosen.data}};
  report["chosen_by_folds"] = Json::array();
  for (const Calibration& one : result.of_folds) report["chosen_by_folds"].push_back(to_json(one));
  report["trials"] = Json::array();
  for (const CalibrationTrial& trial : result.trials) {
    report["trials"].push_back({{"grid", trial.grid},
                                {"lambda", trial.lambda},
                                {"structural_weight", trial.weight},
                                {"rerank", trial.rerank},
                                {"value", trial.value}});
  }
  output.write(report);
  if (output.takes_standard_output()) return;
  std::printf("chosen     %s\n", setting_text(chosen).c_str());
  std::printf(
      "evidence   %s %.2f, by the paper's setting %.2f (standard error of the gain %.2f), "
      "%zu classes in %zu folds, %zu images\n",
      chosen.criterion.c_str(), chosen.value, chosen.paper, chosen.gain_error, chosen.classes,
      chosen.folds, chosen.images);
  if (result.unlabelled > 0) {
    std::printf("           %s without a label and took no part\n",
                counted_images(result.unlabelled).c_str());
  }
  if (!result.changed) {
    std::printf("           no setting is better than the paper's by more than the error\n");
  }
  std::printf("%s\n", out.empty() ? "           nothing was written: --out W.safetensors keeps it"
                                  : ("written    " + shown(out)).c_str());
}

void CalibrateCommand::run() {
  const bool of_a_model = !network.params.model.empty();
  if (of_a_model == !files.cells.empty()) {
    throw Error(
        "name the images: --model M --dataset NAME --root DIR, or --cells C.npy --labels L.npy");
  }
  if (of_a_model && images.dataset.empty()) throw Error("--model needs --dataset NAME --root DIR");
  if (!of_a_model && !out.empty()) {
    throw Error("--out keeps a model with its calibration: grids in files have no model");
  }
  if (!out.empty() && (!network.params.projection || !network.params.preprocessing.empty())) {
    throw Error(
        "a model keeps the calibration of its own projection and preprocessing: leave "
        "--no-projection and the options of photos out, or --out");
  }
  check_prior(how.match, how.backend);
  expect_own_files({files.cells, files.globals, labels, roles}, {json});
  JsonOutput output(json);
  Model model;
  if (!out.empty()) model = load_model(located_model(network.params.model));
  CalibrationResult result = or_stopped([&] { return of_a_model ? of_network() : of_files(); },
                                        [] { return "stopped: nothing was written"; });
  if (!out.empty()) {
    model.calibration = result.chosen;
    save_model(out, model);
  }
  tell(result, output);
}

}  // namespace

Run define_calibrate(CLI::App& command) {
  auto options = std::make_shared<CalibrateCommand>();
  CalibrateParams& how = options->how;
  options->network.define(command);
  options->images.define_dataset(command, "the training classes");
  options->files.define(command);
  command.add_option("--labels", options->labels, "Classes of --cells, .npy [images]");
  command.add_option("--roles", options->roles,
                     "Roles of --cells, .npy [images]: 1 query, 2 gallery, 3 both");
  command.get_option("--model")->excludes("--cells");
  command.get_option("--roles")->needs("--cells");
  command.add_flag("--held-out", options->held_out,
                   "Only the fifth of the training classes that evaluate.select=val holds out: for "
                   "a network that was not trained on them");
  command.add_option("--grids", options->grids, "Cells per side to try")
      ->delimiter(',')
      ->check(CLI::Range(1, 14));
  command.add_option("--lambdas", how.lambdas, "To try")->delimiter(',');
  command.add_option("--weights", how.weights, "Weights of the structural similarity to try")
      ->delimiter(',');
  command.add_option("--depths", how.depths, "Numbers of re-ranked candidates to try")
      ->delimiter(',');
  add_choice(command, "--criterion", how.criterion, criterion_from,
             "What to maximise: p_at_1, r_precision or map_at_r");
  command
      .add_option("--folds", how.folds,
                  "Folds of the classes: each is evaluated with the setting that the others choose")
      ->check(CLI::Range(2, 100));
  command.add_option("--seed", how.seed, "Random seed of the folds");
  add_choice(command, "--marginals", how.match.marginals, marginal_rule_from,
             "Rule of the marginals: the weights of the cells");
  add_choice(command, "--prior", how.match.prior, prior_from, "Expected of plans: none or affine");
  add_choice(command, "--matcher", how.backend, backend_from, "auto, cuda, cpu or reference");
  define_threads(command, how.threads);
  command.add_option("--out", options->out,
                     "The model with its calibration, .safetensors. Galleries that were built with "
                     "another file of it must be built again");
  command.add_option("--json", options->json,
                     "The choice, its evidence and all trials; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
