#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace diml::experiments {

// Names with dots and values as text, as `diml train --set` takes them.
using Settings = std::map<std::string, std::string>;

// One way to look at a trained network.
struct Look {
  std::string split = "test";  // or val: the training classes that evaluate.select val holds out
  std::size_t grid = 4;
  std::string pooling = "align";
  std::string resize{};  // pixels, where not the weights' own
  std::string crop{};
  std::string marginals = "cross_correlation";
  double lambda = 0.05;
  std::size_t rerank = 100;        // K
  std::size_t cut_from = 0;        // the authors' protocol: re-ranked so deep, cut at K; 0: not so
  double global_weight = 1.0;      // of the cosine, in the re-ranked head
  double structural_weight = 1.0;  // of the structural similarity
  std::string method{};            // of explanations, where parts are judged
};

struct Row {
  std::string name;
  Settings settings{};  // on top of the experiment's
  bool trained = true;  // false: the starting weights as they are
  // Of weights that nobody trains further: "" for none, pca or random (to model.dim dimensions).
  std::string projection{};
};

struct Column {
  std::string name;
  Look look{};
};

// The last row: what the cells of the others chose by their MAP@R, trained with other settings and
// looked at on the test classes.
struct Choice {
  std::string name;
  Settings settings{};
};

// What the numbers of a cell say.
enum class Quantity : std::uint8_t {
  retrieval,  // p_at_1, r_precision, map_at_r, r_precision_paper, map_at_r_paper
  parts       // exact, within_one
};

// One table: networks down, ways to look at them across.
struct Experiment {
  std::string name;  // of the file
  std::string title;
  std::string about;  // Markdown, shown under the title
  std::string plot;   // of P@1: "pairs" (the first and the last column of each row), "lines" (a
                      // line for each row, a place for each column), or none
  Quantity quantity = Quantity::retrieval;
  Settings settings{};
  std::vector<Row> rows{};
  std::vector<Column> columns{};
  std::optional<Choice> choice{};
  // By data set, row and column: what the paper prints, by the names of numbers in Cell.
  std::map<std::string, std::map<std::string, std::map<std::string, std::map<std::string, double>>>>
      paper{};
};

Experiment read_experiment(const std::string& path);

// In place of the SHA-256 of weights.
inline constexpr const char* kRandomWeights = "random";

// One result and how it came about.
struct Cell {
  std::string experiment;
  std::string dataset;
  std::string row;
  std::string column;
  std::map<std::string, double> numbers{};  // percentages
  std::size_t images = 0;                   // that were looked at
  Settings look{};                          // how; names of Look
  Settings settings{};                      // of the training; empty where there was none
  std::string seed{};
  std::size_t epochs = 0;
  std::size_t epoch = 0;        // whose weights were kept
  std::string projection{};     // of weights that were not trained: "pca 128"
  Settings versions{};          // of the program's parts that decide the numbers
  std::string precision{};      // of the network's maps: float32, or tf32 in cells of before
  std::string data{};           // fingerprint_of() the data set; "" in cells of before
  std::string start_weights{};  // SHA-256
  std::string weights{};        // SHA-256 of what was looked at
  std::string commit{};
  std::string hardware{};
  double train_seconds = 0.0;
  double look_seconds = 0.0;
  std::string chosen{};  // of a choice: "row, column"
};

Cell read_cell(const std::string& path);
void write_cell(const std::string& path, const Cell& cell);

// FOLDER/cub200/main/margin.structural.json; margin.structural.seed_1.json of a seed that is not
// the table's own.
std::string cell_path(const std::string& folder, const std::string& dataset,
                      const std::string& experiment, const std::string& row,
                      const std::string& column, const std::string& other_seed = "");

// FOLDER/curves/RUN.jsonl: a line of settings, then one for each epoch of the run.
std::string curve_path(const std::string& folder, const std::string& run);

struct ReportParams {
  std::string results;      // folder of cells
  std::string experiments;  // folder of the tables' files
  std::string out;          // gets results.md and results/*.csv, *.tex, *.svg
};

// Returns the files that were written.
std::vector<std::string> write_report(const ReportParams& params);

}  // namespace diml::experiments
