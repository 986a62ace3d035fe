#include <algorithm>
#include <filesystem>
#include <set>

#include "diml/error.h"
#include "diml/nearest_name.h"
#include "diml/open_network.h"
#include "diml/run_experiments.h"
#include "diml/sha256.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

// Where and how fast, not what: a run may go on elsewhere.
const std::set<std::string> kOfThePlace = {"dataset.root",      "device",           "threads",
                                           "cache_mb",          "checkpoint_steps", "model.weights",
                                           "checkpoint_epochs", "measure.matcher"};

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
        add_cell(row.name, row.trained, settings_of(experiment, row),
                 {experiment.name, row.name, column.name, column.look, experiment.quantity});
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

  std::string path_of(const std::string& experiment, const std::string& row,
                      const std::string& column) const {
    return cell_path(params_.results, params_.dataset, experiment, row, column);
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

  // Looked at once, and only where something is missing: the file may be large.
  const std::string& start() {
    if (start_.empty() && !weights_.empty()) start_ = sha256_of_file(weights_);
    return start_;
  }

  std::string name_of(const std::string& row, bool trained, const Settings& settings) {
    constexpr std::size_t kShort = 10;
    Sha256 sha;
    const auto add = [&](const std::string& text) {
      sha.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    };
    add("weights " + start() + "\n");
    if (trained) {
      for (const auto& [name, value] : settings) {
        if (kOfThePlace.contains(name)) continue;
        for (const std::string& part : {name, std::string(" "), value, std::string("\n")}) {
          add(part);
        }
      }
    }
    std::string name = params_.dataset + "-";
    // The same network may stand in several tables under several names.
    name += !trained                         ? "untrained"
            : settings.contains("loss.name") ? settings.at("loss.name")
                                             : row;
    return name + "-" + sha.hex().substr(0, kShort);
  }

  void add_cell(const std::string& row, bool trained, const Settings& settings, PlannedCell cell) {
    ++plan_.cells;
    const std::string path = path_of(cell.experiment, cell.row, cell.column);
    if (!paths_.insert(path).second) {
      throw Error(path + ": is the file of two cells, '" + cell.row + ", " + cell.column +
                  "' is one of them: names must differ in letters or digits");
    }
    if (fs::exists(path)) {
      ++plan_.done;
      return;
    }
    if (!trained && weights_.empty()) {
      throw Error(cell.experiment + ": the row '" + row +
                  "' is of weights that others trained: "
                  "name them with --model");
    }
    const std::string name = name_of(row, trained, settings);
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
        const std::string path = path_of(experiment.name, row.name, column.name);
        if (!fs::exists(path)) return;  // not yet
        const double map_at_r = read_cell(path).numbers.at("map_at_r");
        if (map_at_r <= best) continue;
        best = map_at_r;
        best_row = &row;
        best_column = &column;
      }
    }
    if (best_row == nullptr) return;
    const Row row = chosen(*best_row, *experiment.choice);
    Look look = best_column->look;
    look.split = "test";
    add_cell(name, row.trained, settings_of(experiment, row),
             {experiment.name, name, look.split, look, experiment.quantity,
              best_row->name + ", " + best_column->name});
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
