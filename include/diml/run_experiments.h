#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "diml/experiments.h"
#include "diml/train_call.h"

namespace diml::experiments {

struct RunParams {
  std::vector<std::string> files;  // tables
  std::string dataset;
  std::string root;
  std::string model;    // weights to begin with: a file, or the name of fetched ones; "": random
  std::string results;  // folder of cells
  std::string runs;     // folder of training runs
  std::string device = "cpu";
  int threads = 0;
  Settings overrides{};             // of every training
  std::vector<std::string> only{};  // rows; all without it
};

struct PlannedCell {
  std::string experiment;
  std::string row;
  std::string column;
  Look look{};
  Quantity quantity = Quantity::retrieval;
  std::string other_seed{};  // where it is not the table's own
  std::string chosen{};
};

// A network and the cells that are still to be seen with it. Tables share it where they train it
// alike.
struct PlannedRun {
  std::string name;  // of its folder; two that train otherwise have other names
  bool trained = true;
  Settings settings{};
  std::string data{};           // fingerprint_of() the data set
  std::string start_weights{};  // SHA-256 of the file that settings name; "" for random ones
  std::vector<PlannedCell> cells{};
  std::string projection{};  // of a network that is not trained: "pca 128"
};

// Settings under the name of their table and row.
struct NamedSettings {
  std::string name;
  Settings settings{};
};

struct Plan {
  std::vector<PlannedRun> runs{};  // that have missing cells, in the order of the tables
  std::size_t cells = 0;           // of all tables, as far as they are known
  std::size_t done = 0;
  std::size_t outdated = 0;  // missing ones that were made by other settings or weights
  std::map<std::string, std::size_t> stale{};  // by what changed since: "projection 1, now 2 (...)"
  std::vector<NamedSettings> trainings{};      // all that the tables may ask for
  std::vector<std::string> waiting{};          // choices among cells that are missing
};

// By what lies in the folder of results. A choice is planned once the cells it looks at are there.
Plan make_plan(const RunParams& params);

// Throws where a setting is unknown or does not fit: the last row of a table would say so hours
// later. Needs what trains; without it there is nothing to check.
void check_trainings(const Plan& plan);

struct RunHooks {
  TrainHooks train{};  // its `stop` also ends the looking, between two cells
  std::function<void(const Cell&)> on_cell{};
};

// Trains the network, or goes on where it was left, and writes its cells. Returns whether it came
// to the end.
bool execute(const PlannedRun& run, const RunParams& params, const RunHooks& hooks);

// A program beside others.
struct Job {
  std::string name;
  std::vector<std::string> arguments{};
  std::string log;  // what it prints
};

struct JobEnd {
  std::string name;
  int status = 0;  // its exit code; 128 + n where signal n ended it
  double seconds = 0.0;
};

// At most `at_once` of them at a time. Where `stop` says so the running ones are interrupted and
// waited for, and no others begin.
void run_side_by_side(const std::vector<Job>& jobs, std::size_t at_once,
                      const std::function<bool()>& stop,
                      const std::function<void(const JobEnd&)>& on_end);

}  // namespace diml::experiments
