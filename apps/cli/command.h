#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/output_file.h"

namespace diml::cli {

// A subcommand adds its options to the program and returns the function that runs it.
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
Run define_calibrate(CLI::App& command);     // with networks
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
Run define_bench_server(CLI::App& command);   // with the SERVER and DRAWING features
Run define_bench_train(CLI::App& command);    // with training
Run define_doctor(CLI::App& command);
Run define_demo(CLI::App& command);
Run define_completion(CLI::App& command);
Run define_man(CLI::App& command);
Run define_help(CLI::App& command);

// A line for people about a call that succeeds: what was left out, guessed or substituted. It is
// printed on standard error when the command is done, so that an error stays one line; several
// processes of one call print it once.
void tell_at_end(const std::string& line);

// Keys in the order in which they were added: people read and compare the files.
using Json = nlohmann::ordered_json;

// The output of --json: a file, standard output for "-", none for "". Opened before the work, so
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
