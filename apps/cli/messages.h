#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace diml::cli {

// How much the program says on standard error besides its results. Each level includes those before
// it. error: why a command failed. warning: also what was left out, guessed or substituted.
// info: also progress bars. debug: also what runs, how long it took and how much memory it needed.
enum class LogLevel : std::uint8_t { error, warning, info, debug };

const char* name_of(LogLevel level);
LogLevel log_level_from(std::string_view name);

// --quiet, --verbose and --log-level of a command.
void define_messages(CLI::App& command);

bool is_shown(LogLevel level);

// One line on standard error, if its level is shown.
void say(LogLevel level, const std::string& line);

}  // namespace diml::cli
