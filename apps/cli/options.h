#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/enum_names.h"
#include "diml/candidates.h"
#include "diml/error.h"
#include "diml/match.h"
#include "engine/grid_files.h"

namespace diml::cli {

// "{a,b,c}", the names that `from` knows: help and shell completion need no list of their own.
template <typename Enum>
std::string choices_of(Enum (*from)(std::string_view)) {
  std::string names;
  try {
    (void)from("\n");  // no name has a line break
  } catch (const UnknownName& unknown) {
    for (const std::string& name : unknown.names()) names += (names.empty() ? "" : ",") + name;
  }
  return "{" + names + "}";
}

// An option whose text names a value of an enumeration.
template <typename Enum>
CLI::Option* add_choice(CLI::App& command, const std::string& flags, Enum& value,
                        Enum (*from)(std::string_view), const std::string& help) {
  return command
      .add_option_function<std::string>(
          flags, [&value, from](const std::string& text) { value = from(text); }, help)
      ->type_name(choices_of(from))
      ->default_str(name_of(value));
}

// Options that several commands share, under the same names everywhere.
void define_threads(CLI::App& command, int& threads);

struct MatchOptions {
  MatchParams match{};
  Backend backend = Backend::fastest;
  int threads = 0;

  // flags: of the backend.
  void define(CLI::App& command, const std::string& flags = "--matcher");
  MatchParams params() const;  // throws on bad values
};

// --layout of a file of cells.
void define_layout(CLI::App& command, CellLayout& layout);

// --global-weight and --structural-weight.
void define_weights(CLI::App& command, ScoreWeights& weights);

struct GridOptions {
  std::string cells;
  std::string globals;
  CellType storage = CellType::float32;
  CellLayout layout = CellLayout::automatic;

  void define(CLI::App& command);
  // Says on standard error how an array of four dimensions was understood. images: only these.
  LoadedGrids read(int threads, const std::vector<std::size_t>& images = {}) const;
  GridSet load(int threads) const { return read(threads).grids; }
};

// "name=value" of --set; example: a valid one, for the message.
std::pair<std::string, std::string> setting_from(const std::string& text, const char* example);

// Throws when an output is an input or another output: one of the two would be lost. Empty names
// and "-" are ignored.
void expect_own_files(const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs);

}  // namespace diml::cli
