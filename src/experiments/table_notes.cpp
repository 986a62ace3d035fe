#include "table_notes.h"

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

// Distinct values in the order of their first appearance, without empty ones.
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

// "seed 0", "seeds 0, 1".
std::string listed(const std::string& one, const std::vector<std::string>& values) {
  return one + (values.size() > 1 ? "s " : " ") + joined(values);
}

std::ptrdiff_t lines_with_other_settings(const ResultTable& table) {
  return std::count_if(table.lines.begin(), table.lines.end(), [&](const Line& line) {
    return !std::all_of(line.results.begin(), line.results.end(),
                        [&](const Result& result) { return table.matches(line, result); });
  });
}

// Rows whose columns have different networks: training is not deterministic on a GPU.
std::vector<std::string> rows_trained_twice(const ResultTable& table) {
  std::map<std::pair<std::string, std::string>, std::string> weights;  // by row and seed
  std::vector<std::string> rows;
  for (const Line& line : table.lines) {
    for (const Result& result : line.results) {
      const auto [first, is_new] = weights.try_emplace({line.row, result.seed}, result.weights);
      if (!is_new && first->second != result.weights) gather(rows, line.row);
    }
  }
  return rows;
}

}  // namespace

std::string provenance_note(const ResultTable& table) {
  std::vector<std::string> seeds;
  std::vector<std::string> epochs;
  std::vector<std::string> weights;
  std::vector<std::string> hardware;
  std::vector<std::string> precisions;
  std::vector<std::string> commits;
  std::map<std::string, std::size_t> stale;            // results by part
  std::set<std::pair<std::string, std::string>> runs;  // many results share a training
  double seconds = 0.0;
  bool untrained = false;
  bool early_stopping = false;
  for (const Line& line : table.lines) {
    for (const Result& result : line.results) {
      const bool trained = result.epochs > 0;
      untrained = untrained || !trained;
      if (trained) {
        gather(seeds, result.seed);
        gather(epochs, std::to_string(result.epochs));
        early_stopping =
            early_stopping || value_or(result.settings, "evaluate.patience", "0") != "0";
        if (runs.emplace(result.row, result.weights).second) seconds += result.train_seconds;
      }
      const std::string& start =
          result.start_weights.empty() && !trained ? result.weights : result.start_weights;
      gather(weights, start.substr(0, kHashLetters));
      gather(hardware, result.hardware);
      gather(precisions, result.precision);
      for (const std::string& part : stale_parts(result, table.experiment.metric_family)) {
        ++stale[part];
      }
      const bool dirty = result.commit.ends_with("-dirty");
      gather(commits, result.commit.substr(0, kHashLetters) + (dirty ? "-dirty" : ""));
    }
  }
  std::vector<std::string> parts;
  if (const std::ptrdiff_t others = lines_with_other_settings(table); others > 0) {
    parts.push_back(std::to_string(others) + " with other settings than the table's");
  }
  if (table.left_out > 0) {
    parts.push_back(counted(table.left_out, "file") +
                    " left out that differ in more than the seed");
  }
  for (const auto& [part, results] : stale) {
    parts.push_back(counted(results, "result") + " of an older version of the program: " + part);
  }
  if (const std::vector<std::string> rows = rows_trained_twice(table); !rows.empty()) {
    parts.push_back("results of more than one training: " + joined(rows));
  }
  if (!seeds.empty()) parts.push_back(listed("seed", seeds));
  if (!epochs.empty()) {
    parts.push_back((early_stopping ? "at most " : "") + joined(epochs) +
                    (epochs == std::vector<std::string>{"1"} ? " epoch" : " epochs"));
  }
  if (untrained) parts.emplace_back(runs.empty() ? "no training" : "some without training");
  if (!weights.empty()) parts.push_back("starting weights " + joined(weights));
  if (!hardware.empty()) parts.push_back(joined(hardware, " / "));
  if (!precisions.empty()) parts.push_back("feature maps in " + joined(precisions, " and "));
  if (!commits.empty()) parts.push_back(listed("commit", commits));
  if (!runs.empty()) {
    parts.push_back(duration(seconds) + " of training in " + counted(runs.size(), "run"));
  }
  return joined(parts, "; ");
}

std::string held_out_note(const ResultTable& table) {
  std::size_t held_out = 0;
  std::size_t others = 0;
  std::vector<std::string> columns;
  for (const Line& line : table.lines) {
    if (line.results.empty() || table.is_choice(line)) continue;
    if (line.results.front().protocol.split == EvaluationSplit::test) {
      ++others;
    } else {
      ++held_out;
      gather(columns, line.column);
    }
  }
  if (held_out == 0) return "";
  std::string text = others == 0 ? "The values" : "The values of " + joined(columns);
  text += " are measured on held-out training classes, not on the test classes";
  if (table.experiment.choice) {
    text += "; the last line is chosen by them and measured on the test classes";
  }
  return text + ".";
}

}  // namespace diml::experiments
