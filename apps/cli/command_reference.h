#pragma once

#include <string>

#include "app_tree.h"

namespace diml::cli {

// Every command below `program`, with its options and its example, as one page of Markdown.
std::string markdown_of(const CommandFacts& program);

}  // namespace diml::cli
