#include "origin.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "versions.h"

namespace diml::experiments {
namespace {

constexpr std::size_t kHashLetters = 8;

// Each once, as they come; nothing is no value.
void gather(std::vector<std::string>& values, const std::string& value) {
  if (value.empty() || std::find(values.begin(), values.end(), value) != values.end()) return;
  values.push_back(value);
}

std::string joined(const std::vector<std::string>& values, const std::string& between = ", ") {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : between) + value;
  return text;
}

std::string duration(double seconds) {
  const long long whole = std::llround(seconds);
  if (whole < 60) return std::to_string(whole) + " s";
  const long long minutes = (whole + 30) / 60;
  if (minutes < 60) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

std::string counted(std::size_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

const std::string& split_of(const Cell& cell) {
  static const std::string test = "test";
  const auto split = cell.look.find("split");
  return split == cell.look.end() ? test : split->second;
}

// Lines that an older version of the table left, or a call with settings of its own.
std::ptrdiff_t made_otherwise(const ResultTable& table) {
  return std::count_if(table.lines.begin(), table.lines.end(), [&](const Line& line) {
    return !std::all_of(line.cells.begin(), line.cells.end(),
                        [&](const Cell& cell) { return table.makes(line, cell); });
  });
}

// Rows whose cells look at two networks: one seed, trained twice on a GPU, gives two.
std::vector<std::string> trained_twice(const ResultTable& table) {
  std::map<std::pair<std::string, std::string>, std::string> seen;  // row and seed: the weights
  std::vector<std::string> rows;
  for (const Line& line : table.lines) {
    for (const Cell& cell : line.cells) {
      const auto [first, is_new] = seen.try_emplace({line.row, cell.seed}, cell.weights);
      if (!is_new && first->second != cell.weights) gather(rows, line.row);
    }
  }
  return rows;
}

}  // namespace

std::string origin_of(const ResultTable& table) {
  std::vector<std::string> seeds;
  std::vector<std::string> epochs;
  std::vector<std::string> weights;
  std::vector<std::string> hardware;
  std::vector<std::string> commits;
  std::set<std::pair<std::string, std::string>> runs;  // many cells look at what one training left
  double seconds = 0.0;
  std::vector<std::string> precisions;
  std::map<std::string, std::size_t> stale;
  bool untrained = false;
  bool may_end_early = false;
  for (const Line& line : table.lines) {
    for (const Cell& cell : line.cells) {
      const bool trained = cell.epochs > 0;
      untrained = untrained || !trained;
      if (trained) {
        gather(seeds, cell.seed);
        gather(epochs, std::to_string(cell.epochs));
        const auto patience = cell.settings.find("evaluate.patience");
        may_end_early =
            may_end_early || (patience != cell.settings.end() && patience->second != "0");
        if (runs.emplace(cell.row, cell.weights).second) seconds += cell.train_seconds;
      }
      const std::string& start =
          cell.start_weights.empty() && !trained ? cell.weights : cell.start_weights;
      gather(weights, start.substr(0, kHashLetters));
      gather(hardware, cell.hardware);
      gather(precisions, cell.precision);
      for (const std::string& part : stale_parts(cell, table.experiment.quantity)) ++stale[part];
      const bool dirty = cell.commit.ends_with("-dirty");
      gather(commits, cell.commit.substr(0, kHashLetters) + (dirty ? "-dirty" : ""));
    }
  }
  std::vector<std::string> parts;
  if (const std::ptrdiff_t others = made_otherwise(table); others > 0) {
    parts.push_back(std::to_string(others) + " by other settings than the table's");
  }
  if (table.left_out > 0) {
    parts.push_back(counted(table.left_out, "file") +
                    " left out that differ in more than the seed");
  }
  for (const auto& [part, cells] : stale) {
    parts.push_back(counted(cells, "cell") + " of an older version of the program: " + part);
  }
  if (const std::vector<std::string> rows = trained_twice(table); !rows.empty()) {
    parts.push_back("cells of more than one training: " + joined(rows));
  }
  if (!seeds.empty()) parts.push_back((seeds.size() > 1 ? "seeds " : "seed ") + joined(seeds));
  if (!epochs.empty())
    parts.push_back((may_end_early ? "at most " : "") + joined(epochs) +
                    (epochs == std::vector<std::string>{"1"} ? " epoch" : " epochs"));
  if (untrained) parts.emplace_back(runs.empty() ? "no training" : "some without training");
  if (!weights.empty()) parts.push_back("starting weights " + joined(weights));
  if (!hardware.empty()) parts.push_back(joined(hardware, " / "));
  if (!precisions.empty()) parts.push_back("maps in " + joined(precisions, " and "));
  if (!commits.empty()) {
    parts.push_back((commits.size() > 1 ? "commits " : "commit ") + joined(commits));
  }
  if (!runs.empty()) {
    parts.push_back(duration(seconds) + " of training in " + counted(runs.size(), "run"));
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::string held_out_note(const ResultTable& table) {
  std::size_t held_out = 0;
  std::size_t others = 0;
  std::vector<std::string> columns;
  for (const Line& line : table.lines) {
    if (line.cells.empty() || table.is_choice(line)) continue;
    if (split_of(line.cells.front()) == "test") {
      ++others;
    } else {
      ++held_out;
      gather(columns, line.column);
    }
  }
  if (held_out == 0) return "";
  std::string text = others == 0 ? "The numbers" : "The numbers of " + joined(columns);
  text += " are of training classes that were held out, not of the test classes";
  if (table.experiment.choice) text += "; the last line, chosen by them, is of the test classes";
  return text + ".";
}

}  // namespace diml::experiments
