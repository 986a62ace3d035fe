#pragma once

#include <string>

#include "command.h"
#include "models/model.h"

namespace diml::cli {

// `diml weights project`. Sets `chosen` to its function when it is called.
void define_weights_project(CLI::App& command, Run& chosen);

// Prints what a file of weights contains.
void print_model(const std::string& path, const Model& model);

}  // namespace diml::cli
