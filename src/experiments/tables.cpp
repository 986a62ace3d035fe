#include "tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "diml/error.h"
#include "provenance.h"
#include "versions.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kDatasets{"cub200", "cars196", "sop"};
constexpr std::array<std::string_view, 6> kExperiments{"main", "components", "truncation",
                                                       "grid", "embedding",  "training"};

// The known names first, in their order, then the others by name.
template <typename Known>
void sort_names(std::vector<std::string>& names, const Known& known) {
  const auto place = [&](const std::string& name) {
    return std::pair(std::find(known.begin(), known.end(), name) - known.begin(), name);
  };
  std::sort(names.begin(), names.end(),
            [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  return names;
}

std::vector<std::string> results_in(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The YAML file of the table; "" where there is none.
std::string table_path(const std::string& folder, const std::string& name) {
  if (!fs::is_directory(folder)) {
    throw Error(ErrorKind::not_found,
                folder + ": no such folder; name the one with the tables' YAML files");
  }
  for (const char* ending : {".yaml", ".yml"}) {
    std::string path = (fs::path(folder) / (name + ending)).string();
    if (fs::exists(path)) return path;
  }
  return "";
}

ResultTable empty_table(const Experiment& experiment, const std::string& dataset) {
  ResultTable table{dataset, experiment};
  const auto add = [&](const std::string& row, const std::string& column) {
    const auto paper = experiment.paper.find({dataset, row, column});
    table.lines.push_back(
        {row, column, {}, paper == experiment.paper.end() ? MetricValues{} : paper->second});
  };
  for (const Row& row : experiment.rows) {
    for (const Column& column : experiment.columns) add(row.name, column.name);
  }
  if (experiment.choice) add(experiment.choice->name, "test");
  return table;
}

// Throws where the table has no line for the result: the report would lose it silently.
void put_result(ResultTable& table, const std::string& path) {
  Result result = read_result(path);
  const std::string& name = table.experiment.name;
  if (result.dataset != table.dataset || result.experiment != name) {
    throw Error(path + ": is a result of " + result.dataset + "/" + result.experiment +
                "; move it to the folder of that name");
  }
  const auto line = std::find_if(table.lines.begin(), table.lines.end(), [&](const Line& each) {
    return each.row == result.row && each.column == result.column;
  });
  if (line == table.lines.end()) {
    throw Error(path + ": the table " + name + " has no row \"" + result.row +
                "\" with a column \"" + result.column +
                "\"; remove the result, or name it as the table does");
  }
  for (const Result& other : line->results) {
    if (other.seed != result.seed) continue;
    throw Error(ErrorKind::conflict,
                path + ": another file has the same row, column and seed; remove one of them");
  }
  line->results.push_back(std::move(result));
}

// Keeps the results of a line that differ only in the seed, preferring those that match the table
// and are not stale. A choice keeps all: each seed makes its own.
void keep_comparable(ResultTable& table) {
  for (Line& line : table.lines) {
    if (table.is_choice(line)) continue;
    std::vector<Result>& results = line.results;
    std::stable_partition(results.begin(), results.end(), [&](const Result& result) {
      return stale_parts(result, table.experiment.metric_family).empty();
    });
    std::stable_partition(results.begin(), results.end(),
                          [&](const Result& result) { return table.matches(line, result); });
    table.left_out += std::erase_if(results, [&](const Result& result) {
      return !differ_only_in_seed(results.front(), result);
    });
  }
}

bool matches_choice(const Result& result, const Experiment& experiment) {
  for (const Row& row : experiment.rows) {
    for (const Column& column : experiment.columns) {
      if (result.chosen != row.name + ", " + column.name) continue;
      return matches_table(result, experiment, chosen_row(row, *experiment.choice),
                           chosen_column(column));
    }
  }
  return false;
}

std::optional<double> find_value(const MetricValues& values, const std::string& metric) {
  const auto found = values.find(metric);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::vector<double> values_of(const Line& line, const std::string& metric) {
  std::vector<double> values;
  for (const Result& result : line.results) {
    if (const auto value = find_value(result.metrics, metric)) values.push_back(*value);
  }
  return values;
}

}  // namespace

const std::vector<Metric>& ResultTable::metrics() const {
  static const std::vector<Metric> retrieval{{"p_at_1", "P@1"},
                                             {"r_precision_paper", "RP*"},
                                             {"map_at_r_paper", "MAP@R*"},
                                             {"r_precision", "RP", false},
                                             {"map_at_r", "MAP@R", false}};
  static const std::vector<Metric> parts{{"exact", "exact"}, {"within_one", "within one cell"}};
  return experiment.metric_family == MetricFamily::retrieval ? retrieval : parts;
}

std::optional<double> Line::ours_of(const std::string& metric) const {
  const std::vector<double> values = values_of(*this, metric);
  if (values.empty()) return {};
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> Line::deviation_of(const std::string& metric) const {
  const std::vector<double> values = values_of(*this, metric);
  if (values.size() < 2) return {};
  const double mean = *ours_of(metric);
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> Line::paper_of(const std::string& metric) const {
  return find_value(paper, metric);
}

std::size_t ResultTable::completed() const {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [](const Line& line) { return !line.results.empty(); }));
}

const Line& ResultTable::line(std::size_t row, std::size_t column) const {
  return lines.at(row * experiment.columns.size() + column);
}

bool ResultTable::is_choice(const Line& line) const {
  return experiment.choice.has_value() && &line == &lines.back();
}

bool ResultTable::starts_row(const Line& line) const {
  return &line == lines.data() || (&line)[-1].row != line.row || is_choice(line);
}

bool ResultTable::matches(const Line& line, const Result& result) const {
  if (is_choice(line)) return matches_choice(result, experiment);
  const auto place = static_cast<std::size_t>(&line - lines.data());
  const std::size_t columns = experiment.columns.size();
  return matches_table(result, experiment, experiment.rows[place / columns],
                       experiment.columns[place % columns]);
}

std::string ResultTable::title() const {
  return experiment.title.empty() ? experiment.name : experiment.title;
}

std::string ResultTable::full_title() const { return dataset_title(dataset) + ": " + title(); }

std::string ResultTable::column_text(const Line& line) const {
  std::set<std::string> chosen;  // by each seed
  for (const Result& result : line.results) {
    if (!result.chosen.empty()) chosen.insert(result.chosen);
  }
  std::string text = line.column;
  for (const std::string& one : chosen) text += (one == *chosen.begin() ? ": " : "; ") + one;
  if (const auto cosine = line.ours_of("p_at_1_by_cosine")) {
    text += " (P@1 by the cosine alone: " + decimal(hundredths(*cosine)) + ")";
  }
  return text;
}

std::string ResultTable::file_name(const std::string& ending) const {
  return dataset + "-" + experiment.name + ending;
}

std::string dataset_title(const std::string& dataset) {
  if (dataset == "cub200") return "CUB200-2011";
  if (dataset == "cars196") return "Cars196";
  if (dataset == "sop") return "Stanford Online Products";
  return dataset;
}

std::vector<ResultTable> read_tables(const std::string& results, const std::string& experiments) {
  if (!fs::is_directory(results)) {
    throw Error(ErrorKind::not_found, results + ": no such folder: run the experiments",
                "run_experiments");
  }
  std::vector<ResultTable> tables;
  std::vector<std::string> datasets = folders_in(results);
  std::erase(datasets, "curves");
  sort_names(datasets, kDatasets);
  for (const std::string& dataset : datasets) {
    const fs::path folder = fs::path(results) / dataset;
    std::vector<std::string> names = folders_in(folder);
    sort_names(names, kExperiments);
    for (const std::string& name : names) {
      const std::vector<std::string> paths = results_in(folder / name);
      if (paths.empty()) continue;
      const std::string file = table_path(experiments, name);
      if (file.empty()) {
        throw Error(ErrorKind::not_found,
                    paths.front() + ": " + experiments + " has no " + name +
                        ".yaml; put the table there, or the results elsewhere");
      }
      ResultTable table = empty_table(read_experiment(file), dataset);
      for (const std::string& path : paths) put_result(table, path);
      keep_comparable(table);
      tables.push_back(std::move(table));
    }
  }
  if (tables.empty()) {
    throw Error(ErrorKind::not_found, results + ": has no results: run the experiments",
                "run_experiments");
  }
  return tables;
}

std::string entry(const Line& line, const Metric& metric, const Signs& signs) {
  const std::optional<double> ours = line.ours_of(metric.name);
  if (!ours) return std::string(signs.missing);
  std::string text = decimal(hundredths(*ours), signs.minus);
  if (const std::optional<double> deviation = line.deviation_of(metric.name)) {
    text += " " + std::string(signs.plus_minus) + " " + decimal(hundredths(*deviation));
  }
  if (const std::optional<double> paper = line.paper_of(metric.name)) {
    text += " (" + decimal(hundredths(*paper), signs.minus) + ", ";
    text += signed_decimal(hundredths(*ours) - hundredths(*paper), signs.minus) + ")";
  }
  return text;
}

}  // namespace diml::experiments
