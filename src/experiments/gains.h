#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tables.h"

namespace diml::experiments {

// How much the last column of a table is above its first, in one number.
struct Gain {
  Number number;
  std::size_t rows = 0;         // that have both
  std::size_t rows_gained = 0;  // of these
  double ours = 0.0;            // mean over these
  // Of the same rows, as far as the paper prints both: means of other rows do not compare.
  std::size_t paper_rows = 0;
  double paper = 0.0;
};

// Numbers without any row are left out.
std::vector<Gain> gains_of(const ResultTable& table);

struct Farthest {
  std::string row;
  double difference = 0.0;  // ours less the paper's
};

// The row whose first column is farthest from the paper in the table's first number.
std::optional<Farthest> farthest_from_paper(const ResultTable& table);

}  // namespace diml::experiments
