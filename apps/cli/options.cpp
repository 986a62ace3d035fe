#include "options.h"

#include <filesystem>
#include <system_error>

#include "command.h"
#include "diml/error.h"
#include "progress_bar.h"

namespace diml::cli {

void MatchOptions::define(CLI::App& command, const std::string& flags) {
  TransportParams& transport = match.transport;
  // For what a GPU does not have.
  const auto stay_on_host = [this] {
    if (backend == Backend::fastest) backend = fastest_of_one_pair();
  };
  add_choice(command, "--marginals", match.marginals, marginal_rule_from,
             "Rule of the marginals: the weights of the cells")
      ->each([stay_on_host](const std::string& text) {
        if (text == name_of(MarginalRule::centre)) stay_on_host();
      });
  command
      .add_option("--mass", transport.mass,
                  "Share of the mass that is transported, 0.01 to 1: below 1 the parts that match "
                  "worst are left out (matchers cpu, reference, exact)")
      ->each([stay_on_host](const std::string&) { stay_on_host(); });
  command.add_option("--lambda", transport.lambda, "Entropic regularisation, at least 0.001");
  add_choice(command, flags, backend, backend_from,
             "auto, cuda, cpu, reference (slow, double) or exact (no entropy: each part goes to "
             "one or few others)");
  command
      .add_option_function<std::string>(
          "--prior",
          [this, stay_on_host](const std::string& text) {
            match.prior = prior_from(text);
            stay_on_host();
          },
          "What is expected of a plan: none, or affine (neighbours stay neighbours; matchers cpu "
          "and reference)")
      ->type_name(choices_of(prior_from))
      ->default_str(name_of(match.prior));
  command.add_option("--tolerance", transport.tolerance, "L1 marginal error at which a pair stops");
  command.add_option("--max-iterations", transport.max_iterations, "Sinkhorn iterations at most");
  define_threads(command, threads);
}

void define_threads(CLI::App& command, int& threads) {
  const auto take = [&threads](int wanted) {
    if (wanted < 0) throw Error("--threads must be 0 (all cores) or more");
    threads = wanted;
  };
  command.add_option_function<int>("--threads", take, "Threads; 0 for all cores")
      ->default_str(std::to_string(threads));
}

void define_weights(CLI::App& command, ScoreWeights& weights) {
  command.add_option("--global-weight", weights.global,
                     "Weight of the cosine in the score of re-ranked images");
  command.add_option("--structural-weight", weights.structural,
                     "Weight of the structural similarity in that score");
}

MatchParams MatchOptions::params() const {
  MatchParams params = match;
  params.transport.backend = backend;
  check_params(params.transport);
  check_prior(params, backend);
  return params;
}

void define_layout(CLI::App& command, CellLayout& layout) {
  add_choice(command, "--layout", layout, cell_layout_from,
             "How the cells lie: auto, nrd, nchw or nhwc");
}

void GridOptions::define(CLI::App& command) {
  command.add_option("--cells", cells,
                     "Cells, .npy float [images, cells, dimensions], or feature maps [images, "
                     "dimensions, rows, columns] or [images, rows, columns, dimensions]");
  define_layout(command, layout);
  // An empty name is an unset shell variable, not a request for the mean.
  const auto named = [](const std::string& path) {
    return path.empty() ? std::string("is empty: name a file or leave the option out")
                        : std::string();
  };
  command
      .add_option(
          "--globals", globals,
          "Global vectors, .npy float [images, dimensions]; the mean of the cells without it")
      ->check(CLI::Validator(named, ""));
  add_choice(command, "--storage", storage, cell_type_from,
             "Type of cells in memory: float32, float16 (half the memory) or bfloat16 (also faster "
             "on some CPUs)");
}

LoadedGrids GridOptions::read(int threads, const std::vector<std::size_t>& images) const {
  LoadedGrids loaded =
      load_grids({cells, globals, layout, storage, threads, images}, progress_bar("load"));
  if (!loaded.layout.empty()) tell_at_end(loaded.layout);
  return loaded;
}

std::pair<std::string, std::string> setting_from(const std::string& text, const char* example) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw Error("--set " + text + ": use name=value, such as " + example);
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
