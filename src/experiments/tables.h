#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/experiments.h"
#include "number_text.h"

namespace diml::experiments {

struct Metric {
  std::string name;      // in result files
  std::string heading;   // in tables
  bool headline = true;  // gains in it are summarised
};

// One row and column of a table: the results of all seeds, and the paper's values.
struct Line {
  std::string row;
  std::string column;
  std::vector<Result> results{};  // one for each seed
  MetricValues paper{};

  std::optional<double> ours_of(const std::string& metric) const;  // mean over the seeds
  // Standard deviation over the seeds; none for a single seed.
  std::optional<double> deviation_of(const std::string& metric) const;
  std::optional<double> paper_of(const std::string& metric) const;
};

// One experiment on one data set.
struct ResultTable {
  std::string dataset;
  Experiment experiment;
  std::vector<Line> lines{};  // the columns of each row, in order; then the choice, if any
  std::size_t left_out = 0;   // results of other seeds that differ in more than the seed

  const std::vector<Metric>& metrics() const;  // plots show the first
  std::size_t completed() const;               // lines with a result
  const Line& line(std::size_t row, std::size_t column) const;
  bool is_choice(const Line& line) const;
  bool starts_row(const Line& line) const;
  // Whether the table has the settings and the protocol of this result today.
  bool matches(const Line& line, const Result& result) const;
  std::string title() const;
  std::string full_title() const;  // with the data set
  // The name of the column; for a choice, what was chosen as well.
  std::string column_text(const Line& line) const;
  std::string file_name(const std::string& ending) const;  // in the report's folder of files
};

// "CUB200-2011" for cub200.
std::string dataset_title(const std::string& dataset);

// All tables with at least one result, in the order of the report.
std::vector<ResultTable> read_tables(const std::string& results, const std::string& experiments);

// "64.50 (65.16, -0.66)": ours, the paper's, the difference; ours alone where the paper has none.
// With several seeds "64.50 +- 0.21": mean and standard deviation.
std::string entry(const Line& line, const Metric& metric, const Signs& signs);

}  // namespace diml::experiments
