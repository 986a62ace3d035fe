#pragma once

#include <string>
#include <vector>

#include "tables.h"

namespace diml::experiments {

// One page of all tables. `about`: hand-written Markdown, printed before them.
std::string markdown_of(const std::vector<ResultTable>& tables, const std::string& about);

// One line for each metric of each row and column.
std::string csv_of(const ResultTable& table);

// A tabular to \input into a document with booktabs.
std::string latex_of(const ResultTable& table);

}  // namespace diml::experiments
