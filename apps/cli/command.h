#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "diml/output_file.h"

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
Run define_embed(CLI::App& command);         // with networks
Run define_weights(CLI::App& command);       // with networks
Run define_explain(CLI::App& command);       // with networks
Run define_explain_eval(CLI::App& command);  // with networks
Run define_train(CLI::App& command);         // with training
Run define_experiments(CLI::App& command);   // with networks and YAML
Run define_critters(CLI::App& command);      // with the DRAWING feature
Run define_index(CLI::App& command);         // with the GALLERY feature
Run define_search(CLI::App& command);        // with the GALLERY feature
Run define_serve(CLI::App& command);         // with the SERVER feature
Run define_generate(CLI::App& command);
Run define_list(CLI::App& command);
Run define_bench(CLI::App& command);
Run define_bench_gallery(CLI::App& command);  // with the GALLERY feature
Run define_bench_network(CLI::App& command);  // with networks
Run define_bench_train(CLI::App& command);    // with training
Run define_doctor(CLI::App& command);
Run define_demo(CLI::App& command);

// Keys in the order in which they were added: files that people read and compare.
using Json = nlohmann::ordered_json;

// Where --json goes: a file, standard output for "-", nowhere for "". Opened before the work, so
// that a bad path costs no time.
class JsonOutput {
 public:
  explicit JsonOutput(const std::string& path);
  bool takes_standard_output() const {
    return standard_output_;
  }  // then nothing else may be printed there
  void write(const Json& json);

 private:
  bool standard_output_;
  std::unique_ptr<OutputFile> file_;
};

}  // namespace diml::cli
