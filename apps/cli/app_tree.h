#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace diml::cli {

// The commands of the program and their options as CLI11 knows them: help, error messages, shell
// completion and manual pages are made from this, so that none of them has a list of its own.

struct OptionFacts {
  std::vector<std::string> names;  // "-q", "--quiet"; empty for a positional
  std::string positional;          // its name, or ""
  std::string value;               // "NUMBER", "TEXT"; "" for a flag
  std::string range;               // "0 to 65535", "1 or more"; "" where every value is good
  std::vector<std::string> choices;
  std::string default_value;
  std::string description;
  std::string group;
  bool required = false;
  bool repeated = false;  // takes several values

  bool is_flag() const { return positional.empty() && value.empty(); }
  // The longest name: "--quiet".
  std::string name() const;
  // What stands for a value in help and messages: "NUMBER (0 to 65535)", "exact|cuda".
  std::string value_text() const;
};

struct CommandFacts {
  std::string path;  // "diml index build"
  std::string name;  // "build"
  std::string description;
  std::string footer;
  std::vector<OptionFacts> positionals;
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;

  std::string usage() const;
};

OptionFacts facts_of(const CLI::Option& option);
CommandFacts facts_of(const CLI::App& app, const std::string& path);

// app and all commands below it, parents first.
std::vector<const CommandFacts*> all_of(const CommandFacts& command);

}  // namespace diml::cli
