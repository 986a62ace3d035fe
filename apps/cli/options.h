#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "diml/match.h"

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

struct GridOptions {
  std::string cells;
  std::string globals;
  std::string storage = "float32";

  void define(CLI::App& command);
};

}  // namespace diml::cli
