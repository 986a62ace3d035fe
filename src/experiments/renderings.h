#pragma once

#include <string>
#include <vector>

#include "tables.h"

namespace diml::experiments {

// One page of all tables. `about` is what a person has written about them, in Markdown.
std::string markdown_of(const std::vector<ResultTable>& tables, const std::string& about);

// One line for each number of each cell.
std::string csv_of(const ResultTable& table);

// A tabular to \input into any document with booktabs.
std::string latex_of(const ResultTable& table);

}  // namespace diml::experiments
