#pragma once

#include <string>

#include "diml/experiments.h"

namespace diml::experiments {

// Of a network and the folder it is trained in: two that are trained otherwise have other names.
// start: SHA-256 of the weights it begins with, "" for random ones.
std::string run_name(const std::string& dataset, const std::string& row, const std::string& start,
                     bool trained, const Settings& settings);
// Of the network that a cell was made with.
std::string run_name(const Cell& cell);

bool is_seen_by(const Cell& cell, const Look& look);
// Whether the table, as it is now, would make the cell of this row and column so, from whatever
// weights and with whatever seed.
bool is_made_by(const Cell& cell, const Experiment& experiment, const Row& row,
                const Column& column);

}  // namespace diml::experiments
