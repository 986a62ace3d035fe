#pragma once

#include <string>

#include "app_tree.h"

namespace diml::cli {

// Scripts that complete the program's commands, options and values in a shell.
std::string bash_completion(const CommandFacts& program);
std::string zsh_completion(const CommandFacts& program);
std::string fish_completion(const CommandFacts& program);

}  // namespace diml::cli
