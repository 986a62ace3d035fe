#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/nearest_name.h"
#include "base/setting_text.h"
#include "base/sha256.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "diml/open_network.h"
#include "diml/run_experiments.h"
#include "made_by.h"
#include "versions.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

// What the call says: a table serves any of them.
const std::map<std::string, const char*> kOfTheCall = {{"dataset.name", "dataset"},
                                                       {"dataset.root", "root"},
                                                       {"device", "device"},
                                                       {"model.weights", "model"},
                                                       {"threads", "threads"}};

// "01" and "1" are one seed.
std::string plain_seed(const std::string& text) {
  std::uint64_t seed = 0;
  return text::from_text(text, seed) ? text::to_text(seed) : text;  // what trains will refuse it
}

class Planner {
 public:
  explicit Planner(const RunParams& params)
      : params_(params), data_(fingerprint_of(params.dataset, params.root)) {
    if (params.model.empty()) return;
    weights_ = located_model(params.model);
    start_ = sha256_of_file(weights_);
  }

  void add(const Experiment& experiment) {
    for (const Row& row : experiment.rows) {
      if (!wanted(row.name)) continue;
      const Network network = network_of(experiment, row);
      if (row.trained) {
        plan_.trainings.push_back({experiment.name + ", " + row.name, network.settings});
      } else if (weights_.empty()) {
        throw Error(ErrorKind::bad_input,
                    experiment.name + ": the row '" + row.name +
                        "' is of weights that others trained: name them as the model",
                    "model");
      }
      for (const Column& column : experiment.columns) {
        expect_unseen(experiment, row, column, network);
        add_cell(network, cell_of(experiment, row, column));
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

  // Later ones win: the table's, the row's, those of the call.
  Network network_of(const Experiment& experiment, const Row& row) const {
    Settings settings;
    for (const auto* more : {&experiment.settings, &row.settings, &params_.overrides}) {
      for (const auto& [name, value] : *more) {
        if (const auto option = kOfTheCall.find(name); option != kOfTheCall.end()) {
          throw Error(ErrorKind::bad_input,
                      experiment.name + ", " + row.name + ": " + name +
                          " is no setting of a table: the call has it as " + option->second,
                      option->second);
        }
        settings[name] = name == "seed" ? plain_seed(value) : value;
      }
    }
    settings["dataset.name"] = params_.dataset;
    settings["dataset.root"] = params_.root;
    settings["device"] = params_.device;
    settings["threads"] = std::to_string(params_.threads);
    if (!weights_.empty()) settings["model.weights"] = weights_;
    Settings versions = row.trained ? training_versions(settings) : Settings{};
    return {params_.dataset,
            data_,
            start_,
            row.trained,
            std::move(settings),
            std::move(versions),
            projection_of(row, experiment.settings)};
  }

  // Numbers of several seeds stand beside each other.
  std::string other_seed(const Experiment& experiment, const Row& row) const {
    const auto given = params_.overrides.find("seed");
    if (given == params_.overrides.end()) return "";
    std::string own = "0";
    for (const Settings* settings : {&experiment.settings, &row.settings}) {
      if (settings->contains("seed")) own = plain_seed(settings->at("seed"));
    }
    std::string wanted = plain_seed(given->second);
    return wanted == own ? "" : wanted;
  }

  PlannedCell cell_of(const Experiment& experiment, const Row& row, const Column& column) const {
    PlannedCell cell{experiment.name, row.name, column.name, column.look, experiment.quantity};
    if (row.trained) cell.other_seed = other_seed(experiment, row);
    return cell;
  }

  // What is there already and would be made the same.
  std::optional<Cell> made(const PlannedCell& cell, const Network& network) const {
    const std::string path = path_of(cell);
    if (!fs::exists(path)) return {};
    Cell found = read_cell(path);
    const bool same = is_made_with(found, network) && is_seen_by(found, cell.look, cell.quantity);
    return same ? std::optional(std::move(found)) : std::nullopt;
  }

  // Classes that were trained on say nothing about others.
  static void expect_unseen(const Experiment& experiment, const Row& row, const Column& column,
                            const Network& network) {
    if (column.look.split != "val" || !row.trained) return;
    const auto select = network.settings.find("evaluate.select");
    if (select != network.settings.end() && select->second == "val") return;
    throw Error(experiment.name + ": the column '" + column.name +
                "' looks at classes that the row '" + row.name +
                "' is trained on: set evaluate.select to val, which holds them out");
  }

  void add_cell(const Network& network, PlannedCell cell) {
    ++plan_.cells;
    const std::string path = path_of(cell);
    if (!paths_.insert(path).second) {
      throw Error(path + ": is the file of two cells, '" + cell.row + ", " + cell.column +
                  "' is one of them: names must differ in letters or digits");
    }
    if (made(cell, network)) {
      ++plan_.done;
      return;
    }
    if (fs::exists(path)) {
      const std::vector<std::string> stale = stale_parts(read_cell(path), cell.quantity);
      for (const std::string& part : stale) ++plan_.stale[part];
      plan_.outdated += stale.empty() ? 1 : 0;
    }
    const std::string name = run_name(network);
    auto found = std::find_if(plan_.runs.begin(), plan_.runs.end(),
                              [&](const PlannedRun& run) { return run.name == name; });
    if (found == plan_.runs.end()) {
      found = plan_.runs.insert(found, {name,
                                        network.trained,
                                        network.settings,
                                        network.data,
                                        network.start,
                                        {},
                                        network.projection});
    }
    found->cells.push_back(std::move(cell));
  }

  // By MAP@R, which looks at all neighbours: P@1 of few classes is near its end, and a handful of
  // photos decides.
  void add_choice(const Experiment& experiment) {
    const Choice& choice = *experiment.choice;
    const std::string who = experiment.name + ", " + choice.name;
    const Row* best_row = nullptr;
    const Column* best_column = nullptr;
    double best = -1.0;
    bool all_there = true;
    for (const Row& row : experiment.rows) {
      if (row.trained) {
        plan_.trainings.push_back(
            {who + " by " + row.name, network_of(experiment, chosen_row(row, choice)).settings});
      }
      const Network network = network_of(experiment, row);
      for (const Column& column : experiment.columns) {
        const std::optional<Cell> cell = made(cell_of(experiment, row, column), network);
        if (!cell) {
          all_there = false;
          continue;
        }
        const double map_at_r = cell->numbers.at("map_at_r");
        if (map_at_r <= best) continue;
        best = map_at_r;
        best_row = &row;
        best_column = &column;
      }
    }
    if (!all_there || best_row == nullptr) {
      ++plan_.cells;
      plan_.waiting.push_back(who);
      return;
    }
    const Row row = chosen_row(*best_row, choice);
    PlannedCell cell = cell_of(experiment, row, chosen_column(*best_column));
    cell.row = choice.name;
    cell.other_seed = other_seed(experiment, row);  // also where what it chose is not trained
    cell.chosen = best_row->name + ", " + best_column->name;
    add_cell(network_of(experiment, row), cell);
  }

  const RunParams& params_;
  std::string data_;     // fingerprint
  std::string weights_;  // a file
  std::string start_;    // its SHA-256
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
  std::set<std::string> names;
  for (const Experiment& experiment : experiments) {
    if (names.insert(experiment.name).second) continue;
    throw Error("two tables are named " + experiment.name +
                ": results go by the names of the files, rename one");
  }
  Planner planner(params);
  for (const Experiment& experiment : experiments) planner.add(experiment);
  return planner.take();
}

}  // namespace diml::experiments
