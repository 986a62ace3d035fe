#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "diml/explain.h"
#include "diml/image.h"
#include "diml/model.h"

namespace diml::cli {

// How one pair is matched to be explained. A solver, not a matcher: there are no batches.
struct SolverOptions {
  std::string marginals = "cross_correlation";
  std::string solver;
  TransportParams transport;
  int threads = 0;

  SolverOptions();
  void define(CLI::App& command);
  MatchParams params() const;  // throws on bad values
};

// The image as the network sees it: its grid's cells cover exactly this.
Image seen_by(const Preprocessing& preprocessing, const Image& image);

// The strongest and the weakest pairs, for people.
void print_explanation(const Explanation& explanation, std::size_t strongest, std::size_t weakest);

}  // namespace diml::cli
