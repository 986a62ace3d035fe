#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>

#include "base/npy.h"
#include "base/shown_text.h"
#include "command.h"
#include "diml/error.h"
#include "diml/matcher.h"
#include "engine/grid_files.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

constexpr std::size_t kPairsAtOnce = 16384;  // bounds the memory of plans

struct MatchCommand {
  GridOptions grids;
  MatchOptions match;
  std::string pairs;
  std::string out;
  std::string plans;
  std::string report;
  std::string json;
  std::string quantity = "similarity";
  bool certify = false;

  void run() const;
};

// A summary of all pairs.
struct Summary {
  std::size_t pairs = 0;
  std::size_t unconverged = 0;
  std::size_t uniform_marginals = 0;
  std::size_t log_domain = 0;
  std::size_t without_prior = 0;  // where one was wanted, but its fit was not trusted
  double iterations = 0.0;
  int most_iterations = 0;
  double largest_gap = 0.0;

  void add(const PairReport& report) {
    ++pairs;
    unconverged += report.converged ? 0 : 1;
    uniform_marginals += report.fallbacks.uniform_source || report.fallbacks.uniform_target ? 1 : 0;
    log_domain += report.fallbacks.log_domain ? 1 : 0;
    without_prior += report.prior && !report.prior->trusted() ? 1 : 0;
    iterations += report.iterations;
    most_iterations = std::max(most_iterations, report.iterations);
    if (report.bracket) largest_gap = std::max(largest_gap, report.bracket->gap());
  }

  Json to_json(bool certified, bool with_prior) const {
    Json json = {{"pairs", pairs},
                 {"unconverged", unconverged},
                 {"uniform_marginals", uniform_marginals},
                 {"log_domain", log_domain},
                 {"mean_iterations", pairs ? iterations / static_cast<double>(pairs) : 0.0},
                 {"most_iterations", most_iterations}};
    if (with_prior) json["without_prior"] = without_prior;
    if (certified) json["largest_duality_gap"] = largest_gap;
    return json;
  }
};

std::string report_line(const Pair& pair, float score, const PairReport& report) {
  char line[256];
  std::snprintf(line, sizeof line, "%lld,%lld,%.9g,%d,%.3g,%d,%d,%d,%d",
                static_cast<long long>(pair.source), static_cast<long long>(pair.target),
                static_cast<double>(score), report.iterations, report.marginal_error,
                report.converged, report.fallbacks.uniform_source, report.fallbacks.uniform_target,
                report.fallbacks.log_domain);
  std::string text = line;
  if (report.bracket) {
    std::snprintf(line, sizeof line, ",%.9g,%.9g", report.bracket->lower, report.bracket->upper);
    text += line;
  }
  if (report.prior) {
    std::snprintf(line, sizeof line, ",%s,%.6g", name_of(report.prior->doubt),
                  report.prior->support);
    text += line;
  }
  return text + "\n";
}

void MatchCommand::run() const {
  MatchParams params = match.params();
  if (certify) params.certificate = Certificate::duality_gap;
  if (quantity != "similarity" && quantity != "distance") {
    throw Error("unknown quantity '" + quantity + "': similarity or distance");
  }
  const bool distance = quantity == "distance";
  if (distance && !plans.empty()) throw Error("--plans goes with --quantity similarity");
  const std::unique_ptr<Matcher> matcher = make_matcher(match.backend, {match.threads});
  expect_own_files({grids.cells, grids.globals, pairs}, {out, plans, report, json});
  const LoadedGrids loaded = grids.read(match.threads);
  const GridSet& set = loaded.grids;
  params.source_shape = params.target_shape = loaded.shape();
  const std::vector<Pair> all_pairs = load_pairs(pairs, set.size());
  const std::size_t plan_size = set.cells_per_grid() * set.cells_per_grid();

  // Opened before the work, so that a bad path costs no time.
  NpyWriter score_file(out, ArrayType::float32, std::vector<std::size_t>{all_pairs.size()});
  std::optional<NpyWriter> plan_file;
  if (!plans.empty()) {
    plan_file.emplace(
        plans, ArrayType::float32,
        std::vector<std::size_t>{all_pairs.size(), set.cells_per_grid(), set.cells_per_grid()});
  }
  std::optional<OutputFile> report_file;
  if (!report.empty()) {
    report_file.emplace(report);
    report_file->write(
        std::string("source,target,") + quantity +
        ",iterations,marginal_error,converged,uniform_source,uniform_target,log_domain" +
        (certify ? ",cost_lower,cost_upper" : "") +
        (params.prior != Prior::none ? ",prior_doubt,prior_support\n" : "\n"));
  }

  JsonOutput json_output(json);

  Summary summary;
  const Progress progress = progress_bar("match");
  std::vector<float> scores;
  std::vector<float> plan_values;
  std::vector<PairReport> reports;
  for (std::size_t first = 0; first < all_pairs.size(); first += kPairsAtOnce) {
    const auto some =
        std::span(all_pairs).subspan(first, std::min(kPairsAtOnce, all_pairs.size() - first));
    scores.resize(some.size());
    reports.assign(some.size(), {});
    const PairBatch batch{set.view(), set.view(), some};
    if (plan_file) {
      plan_values.resize(some.size() * plan_size);
      matcher->plans(batch, params, scores, plan_values, reports);
      plan_file->append(plan_values);
    } else {
      matcher->score(batch, params, scores, reports,
                     distance ? Quantity::distance : Quantity::similarity);
    }
    score_file.append(std::span<const float>(scores));
    for (std::size_t k = 0; k < some.size(); ++k) {
      summary.add(reports[k]);
      if (report_file) report_file->write(report_line(some[k], scores[k], reports[k]));
    }
    progress(first + some.size(), all_pairs.size());
  }
  if (plan_file) plan_file->commit();
  if (report_file) report_file->commit();
  json_output.write(summary.to_json(certify, params.prior != Prior::none));
  score_file.commit();

  if (!json_output.takes_standard_output()) {
    std::cout << summary.pairs << " pairs matched by '" << matcher->name() << "' into "
              << shown(out) << "\n";
    if (summary.unconverged > 0) {
      std::cout << summary.unconverged
                << " did not converge: raise --max-iterations or --tolerance\n";
    }
    if (summary.uniform_marginals > 0) {
      std::cout << summary.uniform_marginals
                << " had no positive correlation on one side: its weights are uniform\n";
    }
    if (summary.without_prior > 0) {
      std::cout << summary.without_prior
                << " were matched without the prior: its fit was not reliable\n";
    }
    if (certify) std::cout << "largest duality gap " << summary.largest_gap << "\n";
  }
}

}  // namespace

Run define_match(CLI::App& command) {
  auto options = std::make_shared<MatchCommand>();
  options->grids.define(command);
  command.get_option("--cells")->required();
  command.add_option("--pairs", options->pairs, "Pairs (source, target), .npy int64 [pairs, 2]")
      ->required();
  command.add_option("--out", options->out, "Structural similarities, .npy float32 [pairs]")
      ->required();
  command.add_option("--plans", options->plans,
                     "Transport plans, .npy float32 [pairs, cells, cells]");
  options->match.define(command);
  command.add_option("--quantity", options->quantity, "similarity, or distance (sum of T_ij d_ij)");
  command.add_option("--report", options->report, "How each pair was solved, .csv");
  command.add_flag("--certify", options->certify,
                   "Bracket each pair's least transport cost by a duality gap");
  command.add_option("--json", options->json, "A summary for programs; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
