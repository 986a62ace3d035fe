#pragma once

#include "command.h"
#include "diml/evaluate.h"

namespace diml::cli {

// The contract of `diml evaluate --json`: percentages under fixed names.
Json to_json(const Evaluation& evaluation, bool per_class);

// The same numbers for people, on standard output.
void print_table(const Evaluation& evaluation);

}  // namespace diml::cli
