#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diml/embedding.h"
#include "diml/marginals.h"

namespace diml::experiments {

// Dotted names and values as text, as `diml train --set` takes them.
using Settings = std::map<std::string, std::string>;

inline std::string value_or(const Settings& settings, const std::string& name,
                            const std::string& fallback = "") {
  const auto found = settings.find(name);
  return found == settings.end() ? fallback : found->second;
}

// The settings of both; where both have one, that of `changes`.
inline Settings merged(const Settings& base, Settings changes) {
  changes.insert(base.begin(), base.end());
  return changes;
}

enum class EvaluationSplit : std::uint8_t {
  test,
  val,  // training classes that evaluate.select = val holds out
};

// How a trained network is evaluated.
struct Protocol {
  EvaluationSplit split = EvaluationSplit::test;
  std::size_t grid = 4;
  PoolingRule pooling = PoolingRule::align;
  std::optional<std::size_t> resize{};  // pixels; without it as the weights say
  std::optional<std::size_t> crop{};
  MarginalRule marginals = MarginalRule::cross_correlation;
  double lambda = 0.05;
  double mass = 1.0;               // the share that is transported
  std::size_t rerank = 100;        // K
  std::size_t cut_from = 0;        // not 0: the authors' protocol, re-rank this many and cut at K
  double global_weight = 1.0;      // of the cosine, in the re-ranked head
  double structural_weight = 1.0;  // of the structural similarity, in the re-ranked head
  // Where not empty, grid, lambda, structural_weight and rerank come from `diml calibrate` on the
  // training classes (calibrated), or on the fifth of them that evaluate.select = val holds out
  // (calibrated_held_out).
  std::string setting{};
  std::string method{};  // of explanation, where annotated parts are evaluated

  bool operator==(const Protocol&) const = default;
};

// A network of a table.
struct Row {
  std::string name;
  Settings settings{};       // on top of the table's
  bool trained = true;       // false: the starting weights without training
  std::string projection{};  // of an untrained network: "" (none), pca or random, to model.dim
};

struct Column {
  std::string name;
  Protocol protocol{};
};

// The last row of a table: the network and protocol with the best MAP@R in the other rows, trained
// with these settings and evaluated on the test classes.
struct ChosenRow {
  std::string name;
  Settings settings{};
};

enum class MetricFamily : std::uint8_t {
  retrieval,  // p_at_1, r_precision, map_at_r, r_precision_paper, map_at_r_paper
  parts,      // exact, within_one
};

// What the SVG file shows of the table's first metric.
enum class PlotKind : std::uint8_t {
  none,
  pairs,  // the first and the last column of each row
  lines,  // one line for each row, over the columns
};

using MetricValues = std::map<std::string, double>;  // percentages

// Where the paper has a value: data set, row and column.
using PaperKey = std::array<std::string, 3>;

// One table: networks are rows, protocols are columns.
struct Experiment {
  std::string name;  // of the file
  std::string title;
  std::string about;  // Markdown, printed under the title
  PlotKind plot = PlotKind::none;
  MetricFamily metric_family = MetricFamily::retrieval;
  Settings settings{};
  std::vector<Row> rows{};
  std::vector<Column> columns{};
  std::optional<ChosenRow> choice{};
  std::map<PaperKey, MetricValues> paper{};
};

Experiment read_experiment(const std::string& path);

// Result::start_weights of a network that starts from random weights.
inline constexpr const char* kRandomWeights = "random";

// One result of a table and its provenance.
struct Result {
  std::string experiment;
  std::string dataset;
  std::string row;
  std::string column;
  MetricValues metrics{};
  std::size_t images = 0;  // evaluated
  Protocol protocol{};
  Settings settings{};  // of the training; empty for an untrained network
  std::string seed{};
  std::size_t epochs = 0;
  std::size_t epoch = 0;        // whose weights were kept
  std::string projection{};     // of an untrained network: "pca 128"
  Settings versions{};          // of the parts of the program that decide the values
  std::string precision{};      // of the feature maps: float32; tf32 in older results
  std::string data{};           // fingerprint_of() the data set; "" in older results
  std::string start_weights{};  // SHA-256
  std::string weights{};        // SHA-256 of the evaluated network
  std::string commit{};
  std::string hardware{};
  double train_seconds = 0.0;
  double evaluate_seconds = 0.0;
  std::string chosen{};  // by a choice: "row, column"
};

// A result is a JSON file.
Result read_result(const std::string& path);
void write_result(const std::string& path, const Result& result);

// FOLDER/cub200/main/margin.structural.json; margin.structural.seed_1.json for a seed other than
// the table's.
std::string result_path(const std::string& folder, const std::string& dataset,
                        const std::string& experiment, const std::string& row,
                        const std::string& column, const std::string& other_seed = "");

// FOLDER/curves/RUN.jsonl: a line of settings, then one line for each epoch.
std::string curve_path(const std::string& folder, const std::string& run);

struct ReportParams {
  std::string results;      // folder of the results
  std::string experiments;  // folder of the tables' YAML files
  std::string out;          // gets results.md and results/*.csv, *.tex, *.svg
};

// Returns the paths of the written files.
std::vector<std::string> write_report(const ReportParams& params);

}  // namespace diml::experiments
