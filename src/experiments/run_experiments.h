#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "diml/train.h"
#include "experiments/experiments.h"

namespace diml::experiments {

struct RunParams {
  std::vector<std::string> files;  // tables
  std::string dataset;
  std::string root;
  std::string model;    // starting weights: a file, or the name of fetched ones; "": random
  std::string results;  // folder of the results
  std::string runs;     // folder of the training runs
  std::string device = "cpu";
  int threads = 0;
  Settings overrides{};             // of every training
  std::vector<std::string> only{};  // rows; empty: all
};

// What determines a network.
struct NetworkSpec {
  std::string dataset;
  std::string data;           // fingerprint_of() the data set; "" where it is not known
  std::string start_weights;  // SHA-256; "" for random weights
  bool trained = true;
  Settings settings{};
  Settings versions{};       // of the parts of the program that train it
  std::string projection{};  // of an untrained network: "pca 128"
};

struct PlannedResult {
  std::string experiment;
  std::string row;
  std::string column;
  Protocol protocol{};
  MetricFamily metric_family = MetricFamily::retrieval;
  std::string other_seed{};  // "" for the table's own seed
  std::string chosen{};
};

// A network and its missing results. Tables with the same network share it.
struct PlannedRun {
  std::string name;  // run_name() of the network, and of its folder
  NetworkSpec network{};
  std::vector<PlannedResult> results{};
};

// A training that a table may need.
struct PlannedTraining {
  std::string name;  // "table, row"
  Settings settings{};
};

struct Plan {
  std::vector<PlannedRun> runs{};  // with missing results, in the order of the tables
  std::size_t total = 0;           // results of all tables
  std::size_t done = 0;
  std::size_t outdated = 0;  // missing results with a file from other settings, weights or data
  std::map<std::string, std::size_t> stale{};  // results by changed part: "projection 1, now 2 ..."
  std::vector<PlannedTraining> trainings{};
  std::vector<std::string> waiting{};  // choices among results that are missing
};

// Compares the tables with the folder of results. A choice is planned when the results it compares
// are there.
Plan make_plan(const RunParams& params);

// Throws on settings that are unknown or invalid, before the first training. Checks nothing in a
// build without LibTorch.
void check_trainings(const Plan& plan);

struct RunHooks {
  TrainHooks train{};  // its `cancelled` is also asked between two evaluations
  std::function<void(const Result&)> on_result{};
};

// Trains the network, or resumes its training, and writes its results. It can be cancelled:
// results and checkpoints that are there stay.
void execute(const PlannedRun& run, const RunParams& params, const RunHooks& hooks);

// A child process.
struct Job {
  std::string name;
  std::vector<std::string> arguments{};
  std::string log;  // file for its output
};

struct FinishedJob {
  std::string name;
  int status = 0;  // exit code; 128 + n where signal n ended it
  double seconds = 0.0;
};

// Runs at most `parallel` jobs at a time. When `cancelled` returns true, interrupts and awaits the
// running jobs and starts no others.
void run_jobs(const std::vector<Job>& jobs, std::size_t parallel,
              const Progress::Cancelled& cancelled,
              const std::function<void(const FinishedJob&)>& on_finish);

}  // namespace diml::experiments
