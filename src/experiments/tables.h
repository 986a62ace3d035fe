#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diml/experiments.h"
#include "number_text.h"

namespace diml::experiments {

// One number of a cell.
struct Number {
  std::string name;      // in cells
  std::string heading;   // in tables
  bool headline = true;  // a gain in it is worth a summary
};

// The first is what plots show.
const std::vector<Number>& numbers_of(Quantity quantity);

// What is known of one row and one column.
struct Line {
  std::string row;
  std::string column;
  std::vector<Cell> cells{};  // one for each seed
  std::map<std::string, double> paper{};

  std::optional<double> ours_of(const std::string& number) const;  // the mean over seeds
  // Standard deviation; none of one seed alone.
  std::optional<double> deviation_of(const std::string& number) const;
  std::optional<double> paper_of(const std::string& number) const;
};

// One experiment on one data set.
struct ResultTable {
  std::string dataset;
  Experiment experiment;
  std::vector<Line> lines{};  // rows, the columns of each; then the choice, where there is one
  std::size_t left_out = 0;   // cells of other seeds that cannot stand beside the first one

  std::size_t cells() const;  // of the lines that have one
  const Line& line(std::size_t row, std::size_t column) const;
  bool is_choice(const Line& line) const;
  // Whether the table, as it is now, would make this cell of the line so.
  bool makes(const Line& line, const Cell& cell) const;
  std::string title() const;
  // Of a choice also what was chosen.
  std::string column_text(const Line& line) const;
  std::string file_name(const std::string& ending) const;  // in the report's folder of files
};

// As people write it.
std::string dataset_title(const std::string& dataset);

// Every table with at least one cell, in the order of the report.
std::vector<ResultTable> read_tables(const std::string& results, const std::string& experiments);

// "64.50 (65.16, -0.66)": ours, the paper's, the difference. Ours alone where the paper has none;
// of several seeds "64.50 +- 0.21", the mean and the standard deviation.
std::string entry(const Line& line, const Number& number, const Signs& signs);

}  // namespace diml::experiments
