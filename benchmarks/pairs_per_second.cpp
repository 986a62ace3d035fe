// The matcher's side of compare.py and cuda/peers.py: loads what the peers load, matches the same
// pairs, prints the rate as JSON. With --lists stdin it measures once for each word that it reads
// there: loading a large collection takes longer than matching it, and contestants take turns.

#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/npy.h"
#include "diml/error.h"
#include "diml/matcher.h"
#include "engine/grid_files.h"
#if DIML_BENCH_ON_CARD
#include "cuda/on_card.h"
#endif

namespace {

constexpr char kUsage[] =
    "diml_pairs_per_second --cells C.npy --globals V.npy --pairs P.npy [--matcher auto]"
    " [--storage float32|float16|bfloat16|int8] [--threads 0] [--seconds 0.5] [--scores OUT.npy]"
    " [--lists host|card|stdin]";

struct Options {
  std::string cells;
  std::string globals;
  std::string pairs;
  std::string matcher = "auto";
  std::string storage = "float32";
  int threads = 0;
  double seconds = 0.5;  // at least, in whole passes over the pairs
  std::string scores;    // "": not written
  // Where the list of pairs is and the scores go; grids are where the matcher wants them.
  std::string lists = "host";
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
      {"--storage", &options.storage}, {"--scores", &options.scores},
      {"--lists", &options.lists}};
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

// The mean over all passes, not the best one, as for the peers.
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

// Loaded once, and measured on every request.
class Contestant {
 public:
  explicit Contestant(const Options& options)
      : options_(options),
        grids_(diml::load_grids({.cells = options.cells,
                                 .globals = options.globals,
                                 .storage = diml::cell_type_from(options.storage)})
                   .grids),
        pairs_(diml::load_pairs(options.pairs, grids_.size())),
        matcher_(diml::make_matcher(diml::backend_from(options.matcher), {options.threads})),
        scores_(pairs_.size()) {
    if (pairs_.empty()) throw diml::Error(options.pairs + " has no pairs");
    kept_ = matcher_->keep(grids_.view());
    std::vector<diml::PairReport> reports(pairs_.size());
    matcher_->score(batch(), {}, scores_, reports);  // warms up, too
    iterations_ = mean_iterations(reports);
  }

  void measure(const std::string& lists) {
    if (lists != "host" && lists != "card") {
      throw diml::Error("lists are on the host or the card, not '" + lists + "'");
    }
    const double seconds = lists == "card" ? seconds_on_card() : seconds_on_host();
    if (!options_.scores.empty()) write_scores();
    std::printf("{\"pairs_per_second\": %.9g, \"iterations\": %.9g}\n",
                static_cast<double>(pairs_.size()) / seconds, iterations_);
    std::fflush(stdout);
  }

 private:
  diml::PairBatch batch() const { return {grids_.view(), grids_.view(), pairs_}; }

  double seconds_on_host() {
    return seconds_per_pass(options_.seconds, [&] { matcher_->score(batch(), {}, scores_); });
  }

  double seconds_on_card() {
#if DIML_BENCH_ON_CARD
    if (!on_card_) {
      on_card_.emplace(grids_.view(), pairs_);
      on_card_->match();  // warms up
    }
    const double seconds = seconds_per_pass(options_.seconds, [&] { on_card_->match(); });
    on_card_->download(scores_);
    return seconds;
#else
    throw diml::Error("lists on the card need a build with CUDA: cmake --preset cuda");
#endif
  }

  void write_scores() const {
    diml::NpyWriter file(options_.scores, diml::ArrayType::float32,
                         std::vector<std::size_t>{scores_.size()});
    file.append(std::span<const float>(scores_));
    file.commit();
  }

  Options options_;
  diml::GridSet grids_;
  std::vector<diml::Pair> pairs_;
  std::unique_ptr<diml::Matcher> matcher_;
  std::shared_ptr<const void> kept_;
  std::vector<float> scores_;
  double iterations_ = 0.0;
#if DIML_BENCH_ON_CARD
  std::optional<diml::bench::OnCard> on_card_;
#endif
};

void run(const Options& options) {
  Contestant contestant(options);
  if (options.lists != "stdin") return contestant.measure(options.lists);
  for (std::string lists; std::cin >> lists;) contestant.measure(lists);
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
