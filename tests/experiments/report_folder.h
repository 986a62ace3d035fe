#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"
#include "experiments/experiments.h"
#include "versions.h"

namespace diml::experiments {

namespace fs = std::filesystem;

inline constexpr const char* kMain = R"(
title: Seventeen methods
about: Plain and re-ranked.
plot: pairs
rows:
  Margin: {}
  MS: {}
  A_B <x> & "c", [d]: {}
columns:
  baseline: {rerank: 0}
  structural: {rerank: 100}
paper:
  cub200:
    Margin:
      baseline: [62.47, 34.12, 23.14]
      structural: [65.16, 35.37, 24.51]
    MS:
      baseline: [62.56, 32.74, 21.99]
      structural: [64.89, 33.99, 23.34]
)";

inline constexpr const char* kGrid = R"(
title: Size of the grid
plot: lines
rows:
  Margin: {}
  MS: {}
columns:
  G = 1: {grid: 1}
  G = 2: {grid: 2}
  G = 4: {grid: 4}
paper:
  cub200:
    Margin:
      G = 1: [62.47, ~, ~]
      G = 2: [64.15, ~, ~]
      G = 4: [65.16, ~, ~]
)";

// Tables, results and their report, in a temporary folder.
class ReportTest : public testing::Test {
 protected:
  void table(const std::string& name, const std::string& yaml) {
    write("experiments/" + name + ".yaml", yaml);
  }

  void write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  static Result result(const std::string& experiment, const std::string& row,
                       const std::string& column, double p_at_1) {
    Result result{.experiment = experiment, .dataset = "cub200", .row = row, .column = column};
    result.metrics = {{"p_at_1", p_at_1},
                      {"r_precision_paper", 34.0},
                      {"map_at_r_paper", 23.0},
                      {"r_precision", 33.004},
                      {"map_at_r", 22.996}};
    result.settings = {{"seed", "0"}};
    result.versions = training_versions(result.settings);
    result.precision = "float32";
    if (column == "baseline") result.protocol.rerank = 0;
    result.seed = "0";
    result.epochs = 60;
    result.start_weights = "0123456789abcdef";
    result.weights = "weights of " + row;
    result.commit = "fedcba9876543210";
    result.hardware = "one card";
    result.train_seconds = 3600.0;
    return result;
  }

  void put(const Result& result) {
    write_result(result_path(folder_ / "results", result.dataset, result.experiment, result.row,
                             result.column, result.seed == "0" ? "" : result.seed),
                 result);
  }
  void put(const std::string& experiment, const std::string& row, const std::string& column,
           double p_at_1) {
    put(result(experiment, row, column, p_at_1));
  }

  // Five results of six.
  void put_main() {
    table("main", kMain);
    put("main", "Margin", "baseline", 61.04);
    put("main", "Margin", "structural", 64.5);
    put("main", "MS", "baseline", 62.6);
    put("main", "MS", "structural", 62.59);
    put("main", "A_B <x> & \"c\", [d]", "baseline", 50.0);
  }

  std::vector<std::string> report(const std::string& out = "docs") {
    return write_report({folder_ / "results", folder_ / "experiments", folder_ / out});
  }

  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    EXPECT_TRUE(file.is_open()) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string message_of_report() {
    try {
      report();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

inline testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << part << "\" in:\n" << text;
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace diml::experiments
