#pragma once

#include <string>

#include "command.h"
#include "diml/model.h"

namespace diml::cli {

// `diml weights project`. Sets `chosen` to what it does when it was named.
void define_weights_project(CLI::App& command, Run& chosen);

// What a file of weights holds, for people.
void print_model(const std::string& path, const Model& model);

}  // namespace diml::cli
