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
#include "made_by.h"
#include "versions.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kDatasets{"cub200", "cars196", "sop"};
constexpr std::array<std::string_view, 6> kExperiments{"main", "components", "truncation",
                                                       "grid", "embedding",  "training"};

// Those of the list first and in its order, then the others by name.
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
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> files_in(const fs::path& folder, const std::string& ending) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ending) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The table of that name; others' YAML files may lie beside it.
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

// What the paper prints there.
std::map<std::string, double> paper_numbers(const Experiment& experiment,
                                            const std::string& dataset, const std::string& row,
                                            const std::string& column) {
  const auto of_dataset = experiment.paper.find(dataset);
  if (of_dataset == experiment.paper.end()) return {};
  const auto of_row = of_dataset->second.find(row);
  if (of_row == of_dataset->second.end()) return {};
  const auto of_column = of_row->second.find(column);
  return of_column == of_row->second.end() ? std::map<std::string, double>{} : of_column->second;
}

ResultTable empty_table(const Experiment& experiment, const std::string& dataset) {
  ResultTable table{dataset, experiment};
  const auto add = [&](const std::string& row, const std::string& column) {
    table.lines.push_back({row, column, {}, paper_numbers(experiment, dataset, row, column)});
  };
  for (const Row& row : experiment.rows) {
    for (const Column& column : experiment.columns) add(row.name, column.name);
  }
  if (experiment.choice) add(experiment.choice->name, "test");
  return table;
}

[[noreturn]] void refuse_unknown(const std::string& path, const std::string& name,
                                 const std::string& experiments) {
  throw Error(ErrorKind::not_found, path + ": " + experiments + " has no " + name +
                                        ".yaml; put the table there, or the results elsewhere");
}

// A result that has no place in its table must not vanish from the report unseen.
void put_cell(ResultTable& table, const std::string& path) {
  Cell cell = read_cell(path);
  const std::string& name = table.experiment.name;
  if (cell.dataset != table.dataset || cell.experiment != name) {
    throw Error(path + ": is a cell of " + cell.dataset + "/" + cell.experiment +
                "; move it to the folder of that name");
  }
  const auto line = std::find_if(table.lines.begin(), table.lines.end(), [&](const Line& each) {
    return each.row == cell.row && each.column == cell.column;
  });
  if (line == table.lines.end()) {
    throw Error(path + ": the table " + name + " has no row \"" + cell.row + "\" with a column \"" +
                cell.column + "\"; remove the cell, or name it as the table does");
  }
  for (const Cell& other : line->cells) {
    if (other.seed != cell.seed) continue;
    throw Error(ErrorKind::conflict,
                path + ": another file has the same row, column and seed; remove one of them");
  }
  line->cells.push_back(std::move(cell));
}

// Means are over seeds and nothing else. What the table would make today comes first. Each seed
// chooses for itself: a choice has no such order.
void keep_comparable(ResultTable& table) {
  for (Line& line : table.lines) {
    if (table.is_choice(line)) continue;
    std::vector<Cell>& cells = line.cells;
    std::stable_partition(cells.begin(), cells.end(), [&](const Cell& cell) {
      return stale_parts(cell, table.experiment.quantity).empty();
    });
    std::stable_partition(cells.begin(), cells.end(),
                          [&](const Cell& cell) { return table.makes(line, cell); });
    table.left_out +=
        std::erase_if(cells, [&](const Cell& cell) { return !are_alike(cells.front(), cell); });
  }
}

// As the choice says, of the row and column that it names.
bool is_chosen_by(const Cell& cell, const Experiment& experiment) {
  for (const Row& row : experiment.rows) {
    for (const Column& column : experiment.columns) {
      if (cell.chosen != row.name + ", " + column.name) continue;
      return is_made_by(cell, experiment, chosen_row(row, *experiment.choice),
                        chosen_column(column));
    }
  }
  return false;
}

std::optional<double> find_number(const std::map<std::string, double>& numbers,
                                  const std::string& name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::vector<double> values_of(const Line& line, const std::string& number) {
  std::vector<double> values;
  for (const Cell& cell : line.cells) {
    if (const auto value = find_number(cell.numbers, number)) values.push_back(*value);
  }
  return values;
}

}  // namespace

const std::vector<Number>& numbers_of(Quantity quantity) {
  static const std::vector<Number> retrieval{{"p_at_1", "P@1"},
                                             {"r_precision_paper", "RP*"},
                                             {"map_at_r_paper", "MAP@R*"},
                                             {"r_precision", "RP", false},
                                             {"map_at_r", "MAP@R", false}};
  static const std::vector<Number> parts{{"exact", "exact"}, {"within_one", "within one cell"}};
  return quantity == Quantity::retrieval ? retrieval : parts;
}

std::optional<double> Line::ours_of(const std::string& number) const {
  const std::vector<double> values = values_of(*this, number);
  if (values.empty()) return {};
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> Line::deviation_of(const std::string& number) const {
  const std::vector<double> values = values_of(*this, number);
  if (values.size() < 2) return {};
  const double mean = *ours_of(number);
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> Line::paper_of(const std::string& number) const {
  return find_number(paper, number);
}

std::size_t ResultTable::cells() const {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [](const Line& line) { return !line.cells.empty(); }));
}

const Line& ResultTable::line(std::size_t row, std::size_t column) const {
  return lines.at(row * experiment.columns.size() + column);
}

bool ResultTable::is_choice(const Line& line) const {
  return experiment.choice.has_value() && &line == &lines.back();
}

bool ResultTable::makes(const Line& line, const Cell& cell) const {
  if (is_choice(line)) return is_chosen_by(cell, experiment);
  const auto place = static_cast<std::size_t>(&line - lines.data());
  const std::size_t columns = experiment.columns.size();
  return is_made_by(cell, experiment, experiment.rows[place / columns],
                    experiment.columns[place % columns]);
}

std::string ResultTable::title() const {
  return experiment.title.empty() ? experiment.name : experiment.title;
}

std::string ResultTable::column_text(const Line& line) const {
  std::set<std::string> chosen;  // each seed chooses for itself
  for (const Cell& cell : line.cells) {
    if (!cell.chosen.empty()) chosen.insert(cell.chosen);
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
    throw Error(ErrorKind::not_found,
                results + ": no such folder; `diml experiments run` makes the results");
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
      const std::vector<std::string> paths = files_in(folder / name, ".json");
      if (paths.empty()) continue;
      const std::string file = table_path(experiments, name);
      if (file.empty()) refuse_unknown(paths.front(), name, experiments);
      ResultTable table = empty_table(read_experiment(file), dataset);
      for (const std::string& path : paths) put_cell(table, path);
      keep_comparable(table);
      tables.push_back(std::move(table));
    }
  }
  if (tables.empty()) {
    throw Error(ErrorKind::not_found,
                results + ": has no results; `diml experiments run` makes them");
  }
  return tables;
}

std::string entry(const Line& line, const Number& number, const Signs& signs) {
  const std::optional<double> ours = line.ours_of(number.name);
  if (!ours) return std::string(signs.missing);
  std::string text = decimal(hundredths(*ours), signs.minus);
  if (const std::optional<double> deviation = line.deviation_of(number.name)) {
    text += " " + std::string(signs.plus_minus) + " " + decimal(hundredths(*deviation));
  }
  if (const std::optional<double> paper = line.paper_of(number.name)) {
    text += " (" + decimal(hundredths(*paper), signs.minus) + ", ";
    text += signed_decimal(hundredths(*ours) - hundredths(*paper), signs.minus) + ")";
  }
  return text;
}

}  // namespace diml::experiments
