#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "diml/match.h"
#include "diml/rank.h"

namespace diml::cli {

// Options that several commands share, under the same names everywhere.
struct MatchOptions {
  std::string marginals = "cross_correlation";
  std::string matcher = "auto";
  TransportParams transport;
  int threads = 0;

  void define(CLI::App& command);
  MatchParams params() const;  // throws on bad values
};

// --global-weight and --structural-weight.
void define_weights(CLI::App& command, ScoreWeights& weights);

struct GridOptions {
  std::string cells;
  std::string globals;
  std::string storage = "float32";

  void define(CLI::App& command);
};

// "name=value" of --set; example: one that would do, for the message.
std::pair<std::string, std::string> setting_from(const std::string& text, const char* example);

// Throws when an output is an input or another output: one of the two would be lost. Empty names
// and "-" are none.
void expect_own_files(const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs);

}  // namespace diml::cli
