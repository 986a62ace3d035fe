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
#include "engine/open_network.h"
#include "experiments/run_experiments.h"
#include "provenance.h"
#include "versions.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

// Settings that come from RunParams, so that a table serves any data set and machine.
const std::map<std::string, const char*> kRunSettings = {{"dataset.name", "dataset"},
                                                         {"dataset.root", "root"},
                                                         {"device", "device"},
                                                         {"model.weights", "model"},
                                                         {"threads", "threads"}};

// "01" and "1" are the same seed. Training refuses other text.
std::string normalised_seed(const std::string& text) {
  std::uint64_t seed = 0;
  return text::from_text(text, seed) ? text::to_text(seed) : text;
}

class Planner {
 public:
  explicit Planner(const RunParams& params)
      : params_(params), data_(fingerprint_of(params.dataset, params.root)) {
    if (params.model.empty()) return;
    weights_ = located_model(params.model);
    weights_hash_ = sha256_of_file(weights_);
  }

  void add(const Experiment& experiment) {
    for (const Row& row : experiment.rows) {
      if (!wanted(row.name)) continue;
      const NetworkSpec network = network_of(experiment, row);
      if (row.trained) {
        plan_.trainings.push_back({experiment.name + ", " + row.name, network.settings});
      } else if (weights_.empty()) {
        throw Error(ErrorKind::bad_input,
                    experiment.name + ": the row '" + row.name +
                        "' is not trained: name its weights as the model",
                    "model");
      }
      for (const Column& column : experiment.columns) {
        expect_held_out(experiment, row, column, network);
        add_result(network, planned_result(experiment, row, column));
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

  std::string path_of(const PlannedResult& result) const {
    return result_path(params_.results, params_.dataset, result.experiment, result.row,
                       result.column, result.other_seed);
  }

  // Overrides win over the row's settings, and those over the table's.
  NetworkSpec network_of(const Experiment& experiment, const Row& row) const {
    Settings settings = merged(merged(experiment.settings, row.settings), params_.overrides);
    for (const auto& [name, param] : kRunSettings) {
      if (!settings.contains(name)) continue;
      throw Error(ErrorKind::bad_input,
                  experiment.name + ", " + row.name + ": " + name +
                      " is not a setting of a table: give it to the run as " + param,
                  param);
    }
    if (settings.contains("seed")) settings["seed"] = normalised_seed(settings["seed"]);
    settings["dataset.name"] = params_.dataset;
    settings["dataset.root"] = params_.root;
    settings["device"] = params_.device;
    settings["threads"] = std::to_string(params_.threads);
    if (!weights_.empty()) settings["model.weights"] = weights_;
    Settings versions = row.trained ? training_versions(settings) : Settings{};
    return {params_.dataset,
            data_,
            weights_hash_,
            row.trained,
            std::move(settings),
            std::move(versions),
            projection_of(row, experiment.settings)};
  }

  // The seed where it is not the table's own: its results are stored beside the table's.
  std::string other_seed(const Experiment& experiment, const Row& row) const {
    const Settings table = merged(experiment.settings, row.settings);
    const std::string own = normalised_seed(value_or(table, "seed", "0"));
    const std::string wanted = normalised_seed(value_or(params_.overrides, "seed", own));
    return wanted == own ? "" : wanted;
  }

  PlannedResult planned_result(const Experiment& experiment, const Row& row,
                               const Column& column) const {
    PlannedResult result{experiment.name, row.name, column.name, column.protocol,
                         experiment.metric_family};
    if (row.trained) result.other_seed = other_seed(experiment, row);
    return result;
  }

  // The result on disk, where it is the one that the table asks for.
  std::optional<Result> existing(const PlannedResult& planned, const NetworkSpec& network) const {
    const std::string path = path_of(planned);
    if (!fs::exists(path)) return {};
    Result result = read_result(path);
    if (!has_network(result, network) ||
        !has_protocol(result, planned.protocol, planned.metric_family)) {
      return {};
    }
    return result;
  }

  // Refuses to evaluate on classes that the network is trained on.
  static void expect_held_out(const Experiment& experiment, const Row& row, const Column& column,
                              const NetworkSpec& network) {
    if (column.protocol.split != EvaluationSplit::val || !row.trained ||
        value_or(network.settings, "evaluate.select") == "val") {
      return;
    }
    throw Error(experiment.name + ": the column '" + column.name +
                "' evaluates on classes that the row '" + row.name +
                "' is trained on: set evaluate.select to val, which holds them out");
  }

  void add_result(const NetworkSpec& network, PlannedResult result) {
    ++plan_.total;
    const std::string path = path_of(result);
    if (!paths_.insert(path).second) {
      throw Error(path + ": is the file of two results, '" + result.row + ", " + result.column +
                  "' is one of them: names must differ in letters or digits");
    }
    if (existing(result, network)) {
      ++plan_.done;
      return;
    }
    if (fs::exists(path)) {
      const std::vector<std::string> stale = stale_parts(read_result(path), result.metric_family);
      for (const std::string& part : stale) ++plan_.stale[part];
      plan_.outdated += stale.empty() ? 1 : 0;
    }
    const std::string name = run_name(network);
    auto found = std::find_if(plan_.runs.begin(), plan_.runs.end(),
                              [&](const PlannedRun& run) { return run.name == name; });
    if (found == plan_.runs.end()) found = plan_.runs.insert(found, {name, network, {}});
    found->results.push_back(std::move(result));
  }

  // By MAP@R, which counts all neighbours: on few classes P@1 is close to 100 and depends on a
  // handful of photos.
  void add_choice(const Experiment& experiment) {
    const ChosenRow& choice = *experiment.choice;
    const std::string name = experiment.name + ", " + choice.name;
    const Row* best_row = nullptr;
    const Column* best_column = nullptr;
    double best = -1.0;
    bool complete = true;
    for (const Row& row : experiment.rows) {
      if (row.trained) {
        plan_.trainings.push_back(
            {name + " by " + row.name, network_of(experiment, chosen_row(row, choice)).settings});
      }
      const NetworkSpec network = network_of(experiment, row);
      for (const Column& column : experiment.columns) {
        const auto result = existing(planned_result(experiment, row, column), network);
        complete = complete && result.has_value();
        if (!result || result->metrics.at("map_at_r") <= best) continue;
        best = result->metrics.at("map_at_r");
        best_row = &row;
        best_column = &column;
      }
    }
    if (!complete || best_row == nullptr) {
      ++plan_.total;
      plan_.waiting.push_back(name);
      return;
    }
    const Row row = chosen_row(*best_row, choice);
    PlannedResult result = planned_result(experiment, row, chosen_column(*best_column));
    result.row = choice.name;
    result.other_seed = other_seed(experiment, row);  // of an untrained row, too
    result.chosen = best_row->name + ", " + best_column->name;
    add_result(network_of(experiment, row), std::move(result));
  }

  const RunParams& params_;
  std::string data_;          // fingerprint of the data set
  std::string weights_;       // file of the starting weights; "" for random ones
  std::string weights_hash_;  // SHA-256
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
                ": results are stored under the names of the files, rename one");
  }
  Planner planner(params);
  for (const Experiment& experiment : experiments) planner.add(experiment);
  return planner.take();
}

}  // namespace diml::experiments
