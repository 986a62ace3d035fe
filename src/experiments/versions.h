#pragma once

#include <string>
#include <vector>

#include "diml/experiments.h"

namespace diml::experiments {

// The versions of those parts of the program that decide a network's training, and of those that
// decide what a look at it gives: by part, only the parts that the settings or the look use. A
// change that gives other numbers with the same settings raises its part's version in versions.cpp;
// cells of an older one are then made again.
Settings training_versions(const Settings& settings);
Settings look_versions(const Look& look, Quantity quantity);

// A cell from before its part had a version is of version 1.
std::string version_in(const Settings& versions, const std::string& part);

// What made the cell and is not as it was: "projection 1, now 2 (begins as ...)".
std::vector<std::string> stale_parts(const Cell& cell, Quantity quantity);

}  // namespace diml::experiments
