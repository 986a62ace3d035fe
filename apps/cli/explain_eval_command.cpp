#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "command.h"
#include "diml/error.h"
#include "diml/part_plot.h"
#include "engine/embed_parts.h"
#include "explain_options.h"
#include "network_options.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

constexpr double kPercent = 100.0;

struct ExplainEvalCommand {
  NetworkOptions network;
  ImageOptions images;
  SolverOptions match;
  std::size_t pairs = 2000;
  std::size_t curve_pairs = 200;
  std::size_t distractors = 50;
  std::uint64_t seed = 0;
  std::string json;
  std::string plot;

  void run();

 private:
  PartGrids embedded();
  void tell(const std::vector<PartMethod>& methods, const std::vector<Curve>& curves,
            const PartGrids& judged, JsonOutput& output) const;
};

PictureFormat format_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".svg") return PictureFormat::svg;
  if (ending == ".pdf") return PictureFormat::pdf;
  if (ending == ".png") return PictureFormat::png;
  throw Error(path + ": --plot ends in .svg, .png or .pdf");
}

PartGrids ExplainEvalCommand::embedded() {
  const Dataset data = load_dataset(images.dataset, images.root, split_from(images.split));
  if (data.part_names.empty()) {
    throw Error(images.root + ": has no part annotations (parts/part_locs.txt): cub200 and " +
                "critters have them");
  }
  Embedder embedder = network.open(match.threads);
  return embed_parts(embedder, data, {.pairs = pairs, .seed = seed}, progress_bar("embed"));
}

Json to_json(const std::vector<Curve>& curves) {
  Json all = Json::array();
  for (const Curve& curve : curves) {
    Json one = {{"kept", name_of(curve.kept)},
                {"score_area", curve.score_area},
                {"rank_area", curve.rank_area}};
    one["points"] = Json::array();
    for (const CurvePoint& point : curve.points) {
      one["points"].push_back({{"kept", point.kept},
                               {"score", point.score},
                               {"reciprocal_rank", point.reciprocal_rank},
                               {"first", kPercent * point.first}});
    }
    all.push_back(std::move(one));
  }
  return all;
}

void print_tables(const std::vector<PartMethod>& methods, const std::vector<Curve>& curves) {
  std::printf("%-30s %16s %20s\n", "where is the same part?", "exact", "within one cell");
  for (const PartMethod& method : methods) {
    std::printf("%-30s %8.2f +- %4.2f %12.2f +- %4.2f\n", method.name.c_str(),
                kPercent * method.exact, kPercent * method.exact_error,
                kPercent * method.within_one, kPercent * method.within_error);
  }
  if (curves.empty()) return;
  std::printf("\n%-30s", "source cells kept");
  for (const CurvePoint& point : curves[0].points) std::printf(" %5.0f %%", kPercent * point.kept);
  std::printf("    area\n");
  const auto row = [](const Curve& curve, const char* what, double CurvePoint::*value,
                      double area) {
    std::printf("%-10s %-19s", name_of(curve.kept), what);
    for (const CurvePoint& point : curve.points) std::printf(" %7.3f", point.*value);
    std::printf(" %7.3f\n", area);
  };
  for (const Curve& curve : curves) row(curve, "score", &CurvePoint::score, curve.score_area);
  for (const Curve& curve : curves) {
    row(curve, "reciprocal rank", &CurvePoint::reciprocal_rank, curve.rank_area);
  }
}

void ExplainEvalCommand::tell(const std::vector<PartMethod>& methods,
                              const std::vector<Curve>& curves, const PartGrids& judged,
                              JsonOutput& output) const {
  Json report = {{"dataset", images.dataset},
                 {"split", images.split},
                 {"pairs", judged.pairs.size()},
                 {"images", judged.labels.size()},
                 {"parts", methods.empty() ? 0 : methods[0].parts},
                 {"grid", network.grid},
                 {"seed", seed},
                 {"lambda", match.transport.lambda}};
  report["methods"] = Json::array();
  for (const PartMethod& method : methods) {
    report["methods"].push_back({{"method", method.name},
                                 {"exact", kPercent * method.exact},
                                 {"exact_error", kPercent * method.exact_error},
                                 {"within_one", kPercent * method.within_one},
                                 {"within_one_error", kPercent * method.within_error}});
  }
  report["curves"] = to_json(curves);
  report["curve_pairs"] = std::min(curve_pairs, judged.pairs.size());
  report["distractors"] = distractors;
  output.write(report);
  if (output.takes_standard_output()) return;
  std::printf("%zu pairs of %zu images, %zu parts that both show, %zu x %zu grid\n\n",
              judged.pairs.size(), judged.labels.size(), methods[0].parts, network.grid,
              network.grid);
  print_tables(methods, curves);
}

void ExplainEvalCommand::run() {
  PartTruthParams params{match.params(), match.threads};
  if (images.dataset.empty() || network.model.empty()) {
    throw Error(
        "name the data set and what makes grids of it: --dataset NAME --root DIR --model M");
  }
  if (pairs < 1) throw Error("--pairs must be at least 1");
  expect_own_files({}, {json, plot});
  JsonOutput output(json);
  std::unique_ptr<OutputFile> picture;
  if (!plot.empty()) {
    format_of(plot);
#if DIML_HAS_DRAWING
    picture = std::make_unique<OutputFile>(plot);
#else
    throw Error(ErrorKind::unsupported,
                "this build draws no plots: install libcairo2-dev and build again");
#endif
  }
  const PartGrids judged = embedded();
  const GridShape shape{network.grid, network.grid};
  const std::vector<PartMethod> methods = judge_parts(judged.grids.view(), shape, judged.parts,
                                                      judged.pairs, params, progress_bar("judge"));
  if (methods[0].parts == 0) {
    throw Error("no pair shows a part in both of its images: nothing can be judged");
  }
  std::vector<Curve> curves;
  const std::size_t some = std::min(curve_pairs, judged.pairs.size());
  if (some > 0) {
    CurveParams how;
    how.match = params.match;
    how.distractors = distractors;
    how.seed = seed;
    how.threads = match.threads;
    how.matcher = name_of(params.match.transport.solver);
    curves = deletion_curves(judged.grids.view(), judged.labels, {judged.pairs.data(), some}, how,
                             progress_bar("curves"));
  }
#if DIML_HAS_DRAWING
  if (picture) {
    const std::string title = images.dataset + ": " + std::to_string(judged.pairs.size()) +
                              " pairs of one class, " + std::to_string(methods[0].parts) +
                              " parts, " + std::to_string(network.grid) + " x " +
                              std::to_string(network.grid) + " grid";
    picture->write(draw_part_truth(methods, curves, title, format_of(plot)));
    picture->commit();
  }
#endif
  tell(methods, curves, judged, output);
}

}  // namespace

Run define_explain_eval(CLI::App& command) {
  auto options = std::make_shared<ExplainEvalCommand>();
  options->network.grid = 7;
  CLI::Option* name = command.add_option("--dataset", options->images.dataset,
                                         "Images with annotated parts: cub200 or critters");
  command.add_option("--root", options->images.root, "Where the data set lies")->needs(name);
  command.add_option("--split", options->images.split, "test, train or all")->capture_default_str();
  options->network.define(command);
  command.add_option("--grid", options->network.grid, "Cells per side")
      ->check(CLI::Range(1, 14))
      ->capture_default_str();
  options->match.define(command);
  command.add_option("--pairs", options->pairs, "Pairs of one class that are judged")
      ->capture_default_str();
  command
      .add_option("--curve-pairs", options->curve_pairs,
                  "The first so many of them also lose parts; 0 for no curves")
      ->capture_default_str();
  command
      .add_option("--distractors", options->distractors,
                  "Images of other classes that the target is looked for among")
      ->capture_default_str();
  command.add_option("--seed", options->seed, "Of the pairs and of everything else that is drawn")
      ->capture_default_str();
  command.add_option("--json", options->json, "Results for programs; - for standard output");
  command.add_option("--plot", options->plot, "A picture of them: .svg, .png or .pdf");
  return [options] { options->run(); };
}

}  // namespace diml::cli
