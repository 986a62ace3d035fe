#include <algorithm>
#include <filesystem>
#include <set>

#include "diml/error.h"
#include "diml/nearest_name.h"
#include "diml/open_network.h"
#include "diml/run_experiments.h"
#include "diml/sha256.h"
#include "made_by.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

// Made with the network of that name, and looked at like this.
bool is_there(const std::string& path, const std::string& run, const Look& look) {
  if (!fs::exists(path)) return false;
  const Cell cell = read_cell(path);
  return run_name(cell) == run && is_seen_by(cell, look);
}

class Planner {
 public:
  explicit Planner(const RunParams& params) : params_(params) {
    if (!params.model.empty()) weights_ = located_model(params.model);
  }

  void add(const Experiment& experiment) {
    for (const Row& row : experiment.rows) {
      if (!wanted(row.name)) continue;
      if (row.trained) {
        plan_.trainings.push_back(
            {experiment.name + ", " + row.name, settings_of(experiment, row)});
      }
      for (const Column& column : experiment.columns) {
        add_cell(row.trained, settings_of(experiment, row), cell_of(experiment, row, column));
      }
    }
    if (experiment.choice && wanted(experiment.choice->name)) add_choice(experiment);
  }

  Plan take() { return std::move(plan_); }

 private:
  bool wanted(const std::string& row) const {
    return params_.only.empty() ||
           std::find(params_.only.begin(), params_.only.end(), row) != params_.only.end();
  }

  std::string path_of(const PlannedCell& cell) const {
    return cell_path(params_.results, params_.dataset, cell.experiment, cell.row, cell.column,
                     cell.other_seed);
  }

  // Numbers of several seeds stand beside each other; what is not trained has none.
  std::string other_seed(const Experiment& experiment, const Row& row) const {
    const auto wanted = params_.overrides.find("seed");
    if (!row.trained || wanted == params_.overrides.end()) return "";
    std::string own = "0";
    for (const Settings* settings : {&experiment.settings, &row.settings}) {
      if (settings->contains("seed")) own = settings->at("seed");
    }
    return wanted->second == own ? "" : wanted->second;
  }

  PlannedCell cell_of(const Experiment& experiment, const Row& row, const Column& column) const {
    return {experiment.name,     row.name,
            column.name,         column.look,
            experiment.quantity, other_seed(experiment, row)};
  }

  // Later ones win: the table's, the row's, those of the call.
  Settings settings_of(const Experiment& experiment, const Row& row) const {
    Settings settings = experiment.settings;
    for (const auto* more : {&row.settings, &params_.overrides}) {
      for (const auto& [name, value] : *more) settings[name] = value;
    }
    settings["dataset.name"] = params_.dataset;
    settings["dataset.root"] = params_.root;
    settings["device"] = params_.device;
    settings["threads"] = std::to_string(params_.threads);
    if (!weights_.empty()) settings["model.weights"] = weights_;
    return settings;
  }

  // Looked at once: the file may be large.
  const std::string& start() {
    if (start_.empty() && !weights_.empty()) start_ = sha256_of_file(weights_);
    return start_;
  }

  void add_cell(bool trained, const Settings& settings, PlannedCell cell) {
    ++plan_.cells;
    const std::string path = path_of(cell);
    if (!paths_.insert(path).second) {
      throw Error(path + ": is the file of two cells, '" + cell.row + ", " + cell.column +
                  "' is one of them: names must differ in letters or digits");
    }
    if (!trained && weights_.empty()) {
      throw Error(cell.experiment + ": the row '" + cell.row +
                  "' is of weights that others trained: "
                  "name them with --model");
    }
    const std::string name = run_name(params_.dataset, cell.row, start(), trained, settings);
    if (is_there(path, name, cell.look)) {
      ++plan_.done;
      return;
    }
    plan_.outdated += fs::exists(path) ? 1 : 0;
    auto found = std::find_if(plan_.runs.begin(), plan_.runs.end(),
                              [&](const PlannedRun& run) { return run.name == name; });
    if (found == plan_.runs.end()) {
      found = plan_.runs.insert(found, {name, trained, settings, start(), {}});
    }
    found->cells.push_back(std::move(cell));
  }

  static Row chosen(Row row, const Choice& choice) {
    for (const auto& [name, value] : choice.settings) row.settings[name] = value;
    return row;
  }

  // By MAP@R, which looks at all neighbours: P@1 of few classes is near its end, and a handful of
  // photos decides.
  void add_choice(const Experiment& experiment) {
    const std::string& name = experiment.choice->name;
    for (const Row& row : experiment.rows) {
      plan_.trainings.push_back({experiment.name + ", " + name + " by " + row.name,
                                 settings_of(experiment, chosen(row, *experiment.choice))});
    }
    const Row* best_row = nullptr;
    const Column* best_column = nullptr;
    double best = -1.0;
    for (const Row& row : experiment.rows) {
      for (const Column& column : experiment.columns) {
        const std::string path = path_of(cell_of(experiment, row, column));
        const std::string run =
            run_name(params_.dataset, row.name, start(), row.trained, settings_of(experiment, row));
        if (!is_there(path, run, column.look)) return;  // not yet
        const double map_at_r = read_cell(path).numbers.at("map_at_r");
        if (map_at_r <= best) continue;
        best = map_at_r;
        best_row = &row;
        best_column = &column;
      }
    }
    if (best_row == nullptr) return;
    const Row row = chosen(*best_row, *experiment.choice);
    PlannedCell cell = cell_of(experiment, row, *best_column);
    cell.row = name;
    cell.column = cell.look.split = "test";
    cell.chosen = best_row->name + ", " + best_column->name;
    add_cell(row.trained, settings_of(experiment, row), cell);
  }

  const RunParams& params_;
  std::string weights_;  // a file
  std::string start_;    // its SHA-256, once it was asked for
  std::set<std::string> paths_;
  Plan plan_;
};

void expect_rows(const std::vector<std::string>& only, const std::vector<Experiment>& experiments) {
  std::vector<std::string> known;
  for (const Experiment& experiment : experiments) {
    for (const Row& row : experiment.rows) known.push_back(row.name);
    if (experiment.choice) known.push_back(experiment.choice->name);
  }
  for (const std::string& name : only) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error("no table has a row '" + name + "': the nearest is " + nearest_name(name, known));
    }
  }
}

}  // namespace

Plan make_plan(const RunParams& params) {
  std::vector<Experiment> experiments;
  for (const std::string& file : params.files) experiments.push_back(read_experiment(file));
  expect_rows(params.only, experiments);
  Planner planner(params);
  for (const Experiment& experiment : experiments) planner.add(experiment);
  return planner.take();
}

}  // namespace diml::experiments
