// The matcher's side of compare.py: loads what the peers load, matches the same pairs, prints the
// rate as JSON.

#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/error.h"
#include "diml/grid_files.h"
#include "diml/matcher.h"
#include "diml/npy.h"

namespace {

constexpr char kUsage[] =
    "diml_pairs_per_second --cells C.npy --globals V.npy --pairs P.npy [--matcher auto]"
    " [--storage float32|float16|bfloat16] [--threads 0] [--seconds 0.5] [--scores OUT.npy]";

struct Options {
  std::string cells;
  std::string globals;
  std::string pairs;
  std::string matcher = "auto";
  std::string storage = "float32";
  int threads = 0;
  double seconds = 0.5;  // at least so long, in whole passes over the pairs
  std::string scores;    // "": not wanted
};

template <typename Number>
Number number_from(std::string_view option, std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    throw diml::Error(std::string(option) + " takes a number of 0 or more, not '" +
                      std::string(text) + "'");
  }
  return number;
}

void set_option(Options& options, std::string_view name, const std::string& value) {
  const std::map<std::string_view, std::string*> texts = {
      {"--cells", &options.cells},     {"--globals", &options.globals},
      {"--pairs", &options.pairs},     {"--matcher", &options.matcher},
      {"--storage", &options.storage}, {"--scores", &options.scores}};
  if (const auto found = texts.find(name); found != texts.end()) {
    *found->second = value;
  } else if (name == "--threads") {
    options.threads = number_from<int>(name, value);
  } else if (name == "--seconds") {
    options.seconds = number_from<double>(name, value);
  } else {
    throw diml::Error("unknown option '" + std::string(name) + "': " + kUsage);
  }
}

Options parse(std::span<char*> arguments) {
  Options options;
  if (arguments.size() % 2 != 0) throw diml::Error(std::string("usage: ") + kUsage);
  for (std::size_t k = 0; k < arguments.size(); k += 2) {
    set_option(options, arguments[k], arguments[k + 1]);
  }
  if (options.cells.empty() || options.pairs.empty()) {
    throw diml::Error(std::string("--cells and --pairs are needed: ") + kUsage);
  }
  return options;
}

double mean_iterations(std::span<const diml::PairReport> reports) {
  double sum = 0.0;
  for (const diml::PairReport& report : reports) sum += report.iterations;
  return sum / static_cast<double>(reports.size());
}

// The mean over all passes, not the best of them: the peers are timed so, too.
template <typename Work>
double seconds_per_pass(double least_seconds, const Work& pass) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int passes = 1;; ++passes) {
    pass();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds >= least_seconds) return seconds / passes;
  }
}

void run(const Options& options) {
  const diml::GridSet grids =
      diml::load_grids(options.cells, options.globals, diml::cell_type_from(options.storage));
  const std::vector<diml::Pair> pairs = diml::load_pairs(options.pairs, grids.size());
  if (pairs.empty()) throw diml::Error(options.pairs + " has no pairs");
  const auto matcher = diml::make_matcher(options.matcher, {options.threads});
  const diml::PairBatch batch{grids.view(), grids.view(), pairs};
  std::vector<float> scores(pairs.size());
  std::vector<diml::PairReport> reports(pairs.size());
  matcher->score(batch, {}, scores, reports);  // warms up, too
  const double seconds =
      seconds_per_pass(options.seconds, [&] { matcher->score(batch, {}, scores); });
  if (!options.scores.empty()) {
    diml::NpyWriter file(options.scores, diml::ArrayType::float32,
                         std::vector<std::size_t>{scores.size()});
    file.append(std::span<const float>(scores));
    file.commit();
  }
  std::printf("{\"pairs_per_second\": %.9g, \"iterations\": %.9g}\n",
              static_cast<double>(pairs.size()) / seconds, mean_iterations(reports));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "diml_pairs_per_second: %s\n", error.what());
    return 1;
  }
}
