#include <cstdio>
#include <iostream>

#include "diml/error.h"
#include "diml/grid.h"
#include "engine/open_network.h"
#include "engine/projection.h"
#include "network_options.h"
#include "options.h"
#include "progress_bar.h"
#include "weights_command.h"

namespace diml::cli {
namespace {

constexpr double kPercent = 100.0;

struct ProjectCommand {
  NetworkOptions network;
  ImageOptions images;
  std::string kind;
  PcaParams pca;
  bool replace = false;
  std::string out;
  std::string json;

  void run();

 private:
  Model by_pca(const Model& model, Json& report);
};

void expect_kind(const std::string& kind, bool has_photos) {
  if (kind != "pca" && kind != "random") {
    throw Error("there is no projection '" + kind + "': --kind takes pca or random");
  }
  if (kind == "pca" && !has_photos) {
    throw Error("pca needs photos: --dataset NAME --root DIR, or --images DIR");
  }
  if (kind == "random" && has_photos) {
    throw Error("a random projection needs no photos: leave --dataset and --images out");
  }
}

Model ProjectCommand::by_pca(const Model& model, Json& report) {
  const LabelledImages chosen = images.load();
  network.params.projection = false;
  Embedder embedder = open_embedder(network.with_threads(pca.threads));
  pca.orientation = chosen.orientation;
  pca.bad = images.bad();
  const PcaOfPhotos found =
      pca_of_photos(embedder, chosen.paths, pca, progress_bar("embed"), progress_bar("directions"));
  report_bad(found.bad, found.bad.size() + found.photos, "");
  if (!found.directions.converged) {
    std::cerr << "the directions had not converged after " << found.directions.steps
              << " steps: the last of them may not be optimal\n";
  }
  report["photos"] = found.photos;
  report["bad"] = found.bad.size();
  report["cells"] = found.cells;
  report["kept"] = kPercent * found.directions.kept;
  report["steps"] = found.directions.steps;
  report["converged"] = found.directions.converged;
  return projected(model, found);
}

void ProjectCommand::run() {
  expect_kind(kind, !images.images.empty() || !images.dataset.empty());
  const std::string from = located_model(network.params.model);
  expect_own_files({from}, {out, json});
  JsonOutput output(json);
  { const OutputFile told_before_the_work(out); }
  Model model = load_model(from);
  if (model.has_projection() && !replace) {
    throw Error(ErrorKind::conflict, network.params.model + ": has a projection to " +
                                         std::to_string(model.output_channels()) +
                                         " dimensions already: --replace replaces it");
  }
  Json report = {{"kind", kind}, {"dim", pca.dim}, {"seed", pca.seed}};
  model = kind == "pca" ? by_pca(model, report) : randomly_projected(model, pca.dim, pca.seed);
  save_model(out, model);
  report["provenance"] = model.provenance;
  output.write(report);
  if (output.takes_standard_output()) return;
  print_model(out, model);
  if (kind == "pca") {
    std::printf("  %-14s %.2f %% of the second moment of %zu cells of %zu photos\n", "kept",
                report.at("kept").get<double>(), report.at("cells").get<std::size_t>(),
                report.at("photos").get<std::size_t>());
  }
}

}  // namespace

void define_weights_project(CLI::App& command, Run& chosen) {
  auto options = std::make_shared<ProjectCommand>();
  options->network.params.grid = 7;  // ResNet's own map at 224 pixels
  options->images.split = Split::train;
  command
      .add_option("model", options->network.params.model,
                  "Weights (.safetensors), or the name of fetched weights")
      ->required();
  command
      .add_option("--kind", options->kind,
                  "pca: the principal directions of the cells of photos, about the origin; "
                  "random: the initialisation of a training")
      ->required();
  command.add_option("--dim", options->pca.dim, "Dimensions of the projection")
      ->check(CLI::Range(std::size_t{1}, kMostDimensions));
  command.add_option("--seed", options->pca.seed,
                     "Random seed: of the chosen cells, or of the random projection");
  options->images.define_dataset(command, "train");
  options->images.define_images(command);
  command.add_option("--cells", options->pca.cells, "Most cells to use")
      ->check(CLI::Range(1, 1'000'000'000));
  command.add_option("--grid", options->network.params.grid, "Cells per side of a photo")
      ->check(CLI::Range(1, 14));
  command.add_flag("--replace", options->replace, "Replace the model's own projection");
  command.add_option("--out", options->out, "The .safetensors file to write")->required();
  options->network.define_running(command);
  define_threads(command, options->pca.threads);
  command.add_option("--json", options->json, "What was done, for programs; - for standard output");
  command.footer(
      "Example:\n  diml weights project resnet50 --kind pca --dataset cub200 --root CUB_200_2011 "
      "--out pca.safetensors");
  command.callback([options, &chosen] { chosen = [options] { options->run(); }; });
}

}  // namespace diml::cli
