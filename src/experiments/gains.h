#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tables.h"

namespace diml::experiments {

// The last column of a table less the first, in one metric.
struct Gain {
  Metric metric;
  std::size_t rows = 0;         // with both columns
  std::size_t rows_gained = 0;  // of those
  double ours = 0.0;            // mean over those
  // Mean over the same rows, where the paper has both columns.
  std::size_t paper_rows = 0;
  double paper = 0.0;
};

// Without metrics that no row has.
std::vector<Gain> gains_of(const ResultTable& table);

struct Farthest {
  std::string row;
  double difference = 0.0;  // ours less the paper's
};

// The row whose first column is farthest from the paper in the table's first metric.
std::optional<Farthest> farthest_from_paper(const ResultTable& table);

}  // namespace diml::experiments
