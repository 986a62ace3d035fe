#include "explain_options.h"

#include <algorithm>
#include <cstdio>

#include "diml/error.h"

namespace diml::cli {
namespace {

Solver solver_from(const std::string& name) {
  for (const Solver solver : {Solver::cpu, Solver::exact, Solver::reference}) {
    if (name == name_of(solver)) return solver;
  }
  throw Error("there is no solver '" + name + "': cpu, exact (no entropy) or reference");
}

void print_pair(const Explanation& why, const PartPair& pair) {
  std::printf("  (%zu,%zu) -> (%zu,%zu)   [%6.2f] x [%5.2f] / %zu = %8.5f  %6.2f %%\n",
              pair.source / why.source.cols, pair.source % why.source.cols,
              pair.target / why.target.cols, pair.target % why.target.cols, pair.amplified,
              pair.similarity, why.pairs.size(), pair.contribution, 100.0 * pair.share);
}

}  // namespace

SolverOptions::SolverOptions()
    : solver(name_of(is_available(Solver::cpu) ? Solver::cpu : Solver::reference)) {}

void SolverOptions::define(CLI::App& command) {
  command
      .add_option("--marginals", marginals, "Weights of the cells: cross_correlation or uniform")
      ->capture_default_str();
  command.add_option("--lambda", transport.lambda, "Entropic regularisation, at least 0.001")
      ->capture_default_str();
  command
      .add_option("--solver", solver,
                  "cpu, exact (no entropy: each part to one or few others) or reference")
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads; 0 for all cores")->capture_default_str();
}

MatchParams SolverOptions::params() const {
  if (threads < 0) throw Error("--threads must be 0 (all cores) or more");
  MatchParams params{marginal_rule_from(marginals), transport, Certificate::none};
  params.transport.solver = solver_from(solver);
  check_params(params.transport);
  return params;
}

Image seen_by(const Preprocessing& preprocessing, const Image& image) {
  return centre_crop(resize_short_side(image, preprocessing.resize), preprocessing.crop);
}

void print_explanation(const Explanation& why, std::size_t strongest, std::size_t weakest) {
  strongest = std::min(strongest, why.pairs.size());
  weakest = std::min(weakest, why.weakest.size());
  std::printf("strongest pairs of parts (row,column):\n");
  double shown = 0.0;
  for (std::size_t k = 0; k < strongest; ++k) {
    print_pair(why, why.pairs[k]);
    shown += why.pairs[k].contribution;
  }
  std::printf("  the other %zu pairs %36.5f\n", why.pairs.size() - strongest, why.score - shown);
  std::printf("structural similarity %.5f (%s, %d iterations, marginal error %.1e%s)\n", why.score,
              name_of(why.params.transport.solver), why.iterations, why.marginal_error,
              why.converged ? "" : ", not converged");
  std::printf("plain cosine          %.5f\n", why.cosine);
  if (weakest > 0) std::printf("parts of the source that count least, and where they go:\n");
  for (std::size_t k = 0; k < weakest; ++k) print_pair(why, why.weakest[k]);
  if (why.fallbacks.uniform_source || why.fallbacks.uniform_target) {
    std::printf("one image has no part that resembles the other: its parts weigh alike\n");
  }
}

}  // namespace diml::cli
