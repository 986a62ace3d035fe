#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "command.h"
#include "diml/error.h"
#include "engine/embed_parts.h"
#include "explain/part_plot.h"
#include "explain/region_truth.h"
#include "network_options.h"
#include "options.h"
#include "print_explanation.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

constexpr double kPercent = 100.0;

struct ExplainEvalCommand {
  NetworkOptions network;
  ImageOptions images;
  MatchOptions match;
  std::size_t pairs = 2000;
  std::size_t curve_pairs = 200;
  std::size_t distractors = 50;
  std::uint64_t seed = 0;
  std::string json;
  std::string plot;

  void run();

 private:
  PartGrids embedded();
  void tell(const std::vector<PartMethod>& methods, const std::vector<RegionTruth>& regions,
            const std::vector<Curve>& curves, const PartGrids& judged, JsonOutput& output) const;
};

PictureFormat format_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".svg") return PictureFormat::svg;
  if (ending == ".pdf") return PictureFormat::pdf;
  if (ending == ".png") return PictureFormat::png;
  throw Error(path + ": --plot ends in .svg, .png or .pdf");
}

PartGrids ExplainEvalCommand::embedded() {
  const Dataset data = load_dataset(images.dataset, images.root, images.chosen_split());
  if (data.part_names.empty()) {
    throw Error(images.root + ": has no part annotations (parts/part_locs.txt): cub200 and " +
                "critters have them");
  }
  tell_left_out(data, images.root, images.chosen_split());
  Embedder embedder = open_embedder(network.with_threads(match.threads));
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

Json to_json(const std::vector<RegionTruth>& regions) {
  Json all = Json::array();
  for (const RegionTruth& one : regions) {
    all.push_back({{"method", one.name},
                   {"right", kPercent * one.right},
                   {"right_error", kPercent * one.right_error},
                   {"same_place", kPercent * one.same_place},
                   {"same_place_error", kPercent * one.same_place_error},
                   {"gain_error", kPercent * one.gain_error},
                   {"target_cells", kPercent * one.target_cells},
                   {"coverage", kPercent * one.coverage},
                   {"even_coverage", kPercent * one.even_coverage},
                   {"five_pairs", kPercent * one.top_five}});
  }
  return all;
}

void print_regions(const std::vector<RegionTruth>& regions) {
  std::printf("\n%-30s %16s %20s %8s %10s %10s %10s\n", "is the part in the region?", "right",
              "same place, size", "cells", "of score", "even flow", "5 pairs");
  for (const RegionTruth& one : regions) {
    std::printf("%-30s %8.2f +- %4.2f %12.2f +- %4.2f %6.1f %% %8.1f %% %8.1f %% %8.1f %%\n",
                one.name.c_str(), kPercent * one.right, kPercent * one.right_error,
                kPercent * one.same_place, kPercent * one.same_place_error,
                kPercent * one.target_cells, kPercent * one.coverage, kPercent * one.even_coverage,
                kPercent * one.top_five);
  }
}

void print_tables(const std::vector<PartMethod>& methods, const std::vector<RegionTruth>& regions,
                  const std::vector<Curve>& curves) {
  std::printf("%-30s %16s %20s\n", "where is the same part?", "exact", "within one cell");
  for (const PartMethod& method : methods) {
    std::printf("%-30s %8.2f +- %4.2f %12.2f +- %4.2f\n", method.name.c_str(),
                kPercent * method.exact, kPercent * method.exact_error,
                kPercent * method.within_one, kPercent * method.within_error);
  }
  print_regions(regions);
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
                              const std::vector<RegionTruth>& regions,
                              const std::vector<Curve>& curves, const PartGrids& judged,
                              JsonOutput& output) const {
  Json report = {{"dataset", images.dataset},
                 {"split", name_of(images.chosen_split())},
                 {"pairs", judged.pairs.size()},
                 {"images", judged.labels.size()},
                 {"parts", methods.empty() ? 0 : methods[0].parts},
                 {"grid", network.params.grid},
                 {"seed", seed},
                 {"lambda", match.match.transport.lambda}};
  report["methods"] = Json::array();
  for (const PartMethod& method : methods) {
    report["methods"].push_back({{"method", method.name},
                                 {"exact", kPercent * method.exact},
                                 {"exact_error", kPercent * method.exact_error},
                                 {"within_one", kPercent * method.within_one},
                                 {"within_one_error", kPercent * method.within_error}});
  }
  report["regions"] = to_json(regions);
  report["curves"] = to_json(curves);
  report["curve_pairs"] = std::min(curve_pairs, judged.pairs.size());
  report["distractors"] = distractors;
  output.write(report);
  if (output.takes_standard_output()) return;
  std::printf("%zu pairs of %zu images, %zu parts that both show, %zu x %zu grid\n\n",
              judged.pairs.size(), judged.labels.size(), methods[0].parts, network.params.grid,
              network.params.grid);
  print_tables(methods, regions, curves);
}

void ExplainEvalCommand::run() {
  PartTruthParams params{match.params(), match.threads};
  if (images.dataset.empty() || network.params.model.empty()) {
    throw Error("name the data set and the network: --dataset NAME --root DIR --model M");
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
  const GridShape shape{network.params.grid, network.params.grid};
  const std::vector<PartMethod> methods = judge_parts(judged.grids.view(), shape, judged.parts,
                                                      judged.pairs, params, progress_bar("judge"));
  if (methods[0].parts == 0) {
    throw Error("no pair shows a part in both of its images: nothing can be evaluated");
  }
  const std::vector<RegionTruth> regions = judge_regions(
      judged.grids.view(), shape, judged.parts, judged.pairs, params, progress_bar("regions"));
  std::vector<Curve> curves;
  const std::size_t some = std::min(curve_pairs, judged.pairs.size());
  if (some > 0) {
    CurveParams how;
    how.match = params.match;
    how.distractors = distractors;
    how.seed = seed;
    how.threads = match.threads;
    how.backend = match.backend;
    curves = deletion_curves(judged.grids.view(), judged.labels, {judged.pairs.data(), some}, how,
                             progress_bar("curves"));
  }
#if DIML_HAS_DRAWING
  if (picture) {
    const std::string title = images.dataset + ": " + std::to_string(judged.pairs.size()) +
                              " pairs of one class, " + std::to_string(methods[0].parts) +
                              " parts, " + std::to_string(network.params.grid) + " x " +
                              std::to_string(network.params.grid) + " grid";
    picture->write(draw_part_truth(methods, curves, title, format_of(plot)));
    picture->commit();
  }
#endif
  tell(methods, regions, curves, judged, output);
}

}  // namespace

Run define_explain_eval(CLI::App& command) {
  auto options = std::make_shared<ExplainEvalCommand>();
  options->network.params.grid = 7;
  CLI::Option* name = command.add_option("--dataset", options->images.dataset,
                                         "Images with annotated parts: cub200 or critters");
  command.add_option("--root", options->images.root, "Folder of the data set")->needs(name);
  command.add_option_function<std::string>(
      "--split",
      [images = &options->images](const std::string& text) { images->split = split_from(text); },
      "test (without it), train or all");
  options->network.define(command);
  command.add_option("--grid", options->network.params.grid, "Cells per side")
      ->check(CLI::Range(1, 14));
  options->match.define(command, "--matcher,--solver");
  command.add_option("--pairs", options->pairs, "Pairs of one class to evaluate");
  command.add_option("--curve-pairs", options->curve_pairs,
                     "How many of these pairs the deletion curves use; 0: no curves");
  command.add_option("--distractors", options->distractors,
                     "Images of other classes among which the target is ranked");
  command.add_option("--seed", options->seed, "Random seed of the pairs and of all other choices");
  command.add_option("--json", options->json, "Results for programs; - for standard output");
  command.add_option("--plot", options->plot, "A plot of the results: .svg, .png or .pdf");
  return [options] { options->run(); };
}

}  // namespace diml::cli
