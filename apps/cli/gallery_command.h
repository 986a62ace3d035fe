#pragma once

#include <string>

#include "command.h"
#include "diml/gallery.h"

namespace diml::cli {

// The subcommands of `diml index`. Each sets `chosen` to what it does when it was named.
void define_index_build(CLI::App& command, Run& chosen);
void define_index_add(CLI::App& command, Run& chosen);
void define_index_remove(CLI::App& command, Run& chosen);
void define_index_info(CLI::App& command, Run& chosen);
void define_index_verify(CLI::App& command, Run& chosen);
void define_index_export(CLI::App& command, Run& chosen);
void define_index_cache(CLI::App& command, Run& chosen);

// "12.3 MB", for people.
std::string size_text(std::uint64_t bytes);

}  // namespace diml::cli
