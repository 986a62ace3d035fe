#pragma once

#include <string>

#include "tables.h"

namespace diml::experiments {

// How the results of a table were made: "seed 0; 60 epochs; starting weights 1a2b3c4d; ...".
std::string provenance_note(const ResultTable& table);

// Which values are of held-out training classes; "" where all are of the test classes.
std::string held_out_note(const ResultTable& table);

}  // namespace diml::experiments
