#include "options.h"

#include <filesystem>
#include <system_error>

#include "diml/error.h"

namespace diml::cli {

void MatchOptions::define(CLI::App& command) {
  command
      .add_option("--marginals", marginals, "Weights of the cells: cross_correlation or uniform")
      ->capture_default_str();
  command.add_option("--lambda", transport.lambda, "Entropic regularisation, at least 0.001")
      ->capture_default_str();
  command
      .add_option("--matcher", matcher,
                  "auto, cuda, cpu, reference (slow, double) or exact (no entropy)")
      ->capture_default_str();
  command.add_option("--tolerance", transport.tolerance, "L1 marginal error at which a pair stops")
      ->capture_default_str();
  command.add_option("--max-iterations", transport.max_iterations, "Sinkhorn iterations at most")
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads; 0 for all cores")->capture_default_str();
}

void define_weights(CLI::App& command, ScoreWeights& weights) {
  command
      .add_option("--global-weight", weights.global, "Of the cosine, in what orders the re-ranked")
      ->capture_default_str();
  command
      .add_option("--structural-weight", weights.structural,
                  "Of the structural similarity, likewise")
      ->capture_default_str();
}

MatchParams MatchOptions::params() const {
  if (threads < 0) throw Error("--threads must be 0 (all cores) or more");
  MatchParams params{marginal_rule_from(marginals), transport, Certificate::none};
  check_params(params.transport);
  return params;
}

void GridOptions::define(CLI::App& command) {
  command.add_option("--cells", cells, "Cells, .npy float [images, cells, dimensions]");
  // An empty name is an unset shell variable, not a wish for the mean.
  const auto named = [](const std::string& path) {
    return path.empty() ? std::string("is empty: name a file or leave the option out")
                        : std::string();
  };
  command
      .add_option(
          "--globals", globals,
          "Global vectors, .npy float [images, dimensions]; the mean of the cells without it")
      ->check(CLI::Validator(named, ""));
  command
      .add_option("--storage", storage,
                  "How cells are held in memory: float32, float16 (half the memory) or bfloat16 "
                  "(also faster on "
                  "some CPUs)")
      ->capture_default_str();
}

std::pair<std::string, std::string> setting_from(const std::string& text, const char* example) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw Error("--set " + text + ": name=value is wanted, such as " + example);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void expect_own_files(const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
  namespace fs = std::filesystem;
  const auto same = [](const std::string& x, const std::string& y) {
    std::error_code unknown;  // what does not exist yet is compared by name
    return fs::equivalent(x, y, unknown) ||
           fs::absolute(x).lexically_normal() == fs::absolute(y).lexically_normal();
  };
  std::vector<std::string> taken;
  for (const std::string& input : inputs) {
    if (!input.empty()) taken.push_back(input);
  }
  for (const std::string& output : outputs) {
    if (output.empty() || output == "-") continue;
    for (const std::string& other : taken) {
      if (same(output, other)) {
        throw Error(output + ": is named twice: give each output a file of its own");
      }
    }
    taken.push_back(output);
  }
}

}  // namespace diml::cli
