#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace diml::cli {

// The layout of --help: ranges, choices and defaults in words.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// "diml index build": the name of a command below the program.
std::string path_of(const CLI::App& app);

// "there is no command 'serch' (did you mean search?): match, evaluate, ..."
std::string unknown_command(const std::string& word, const std::vector<std::string>& known);

// The command that the parsed arguments call.
const CLI::App& innermost(const CLI::App& program);

// What is wrong with the command line, in one line; the command that was called is where the
// program's parsing ended.
std::string message_of(const CLI::ParseError& error, const CLI::App& program);

}  // namespace diml::cli
