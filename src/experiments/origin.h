#pragma once

#include <string>

#include "tables.h"

namespace diml::experiments {

// How the cells of a table were made, gathered from them, in one plain sentence without an end:
// "seed 0; 60 epochs; starting weights 1a2b3c4d; ...".
std::string origin_of(const ResultTable& table);

// Which lines are not about the test classes; nothing where all are.
std::string held_out_note(const ResultTable& table);

}  // namespace diml::experiments
