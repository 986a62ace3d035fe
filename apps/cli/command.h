#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace diml::cli {

// A subcommand adds its options to the program and returns what runs when it was chosen.
using Run = std::function<void()>;

struct Command {
  const char* name;
  const char* description;
  const char* example;
  Run (*define)(CLI::App& command);
};

Run define_match(CLI::App& command);
Run define_evaluate(CLI::App& command);
Run define_generate(CLI::App& command);
Run define_bench(CLI::App& command);
Run define_doctor(CLI::App& command);
Run define_demo(CLI::App& command);

// Keys in the order in which they were added: files that people read and compare.
using Json = nlohmann::ordered_json;

// Writes to the file, or to standard output for "-".
void write_json(const std::string& path, const Json& json);

}  // namespace diml::cli
