#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/system_error.h"
#include "base/threads.h"
#include "commit.h"
#include "diml/error.h"
#include "diml/network.h"
#include "experiments/run_experiments.h"
#include "match/match_on_device.h"
#include "network_results.h"
#include "search/name_json.h"
#include "text_file.h"
#include "untrained.h"
#include "versions.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The settings without those that name this machine's files and cores.
Settings portable(Settings settings) {
  for (const char* name : {"dataset.root", "model.weights", "threads"}) settings.erase(name);
  return settings;
}

// Keeps other processes out of the run's folder.
class Lock {
 public:
  explicit Lock(const std::string& folder) {
    make_folder(folder);
    const std::string path = folder + "/lock";
    file_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (file_ < 0) throw system_error(path + ": cannot be written", errno);
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      ::close(file_);
      throw Error(ErrorKind::conflict, folder + ": another process trains this run: wait for it");
    }
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_ = -1;
};

// run.json in the run's folder.
struct RunState {
  bool finished = false;
  double seconds = 0.0;
  std::size_t epoch = 0;
  std::size_t epochs = 0;
};

RunState read_state(const std::string& path) {
  RunState state;
  if (!fs::exists(path)) return state;
  const std::string text = read_text(path);
  try {
    const Json json = Json::parse(text);
    state.finished = json.value("finished", false);
    state.seconds = json.value("seconds", 0.0);
    state.epoch = json.value("epoch", std::size_t{0});
    state.epochs = json.value("epochs", std::size_t{0});
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::damaged, path + ": is not readable: remove the folder to train again");
  }
  return state;
}

void write_state(const std::string& path, const RunState& state) {
  const Json json = {{"finished", state.finished},
                     {"seconds", state.seconds},
                     {"epoch", state.epoch},
                     {"epochs", state.epochs}};
  write_text(path, text_of_json(json, 2) + "\n");
}

TrainSummary trained(const TrainParams& params, const TrainHooks& hooks) {
#if DIML_HAS_TORCH
  return train(params, hooks);
#else
  (void)hooks;
  throw Error(ErrorKind::unsupported,
              params.out + ": this build cannot train: install libtorch-dev and build again");
#endif
}

RunState train_network(const Settings& settings, const std::string& folder,
                       const TrainHooks& hooks) {
  const std::string path = folder + "/run.json";
  RunState state = read_state(path);
  if (state.finished) return state;
  TrainParams params;
  params.settings = {settings.begin(), settings.end()};
  params.out = folder;
  params.resume = fs::exists(folder + "/config.yaml");
  const Stopwatch watch;
  const TrainSummary summary = trained(params, hooks);
  state.seconds += watch.seconds();
  state.finished = !summary.cancelled;
  state.epoch = summary.best.epoch;
  state.epochs = summary.last.epochs;
  write_state(path, state);
  return state;
}

// Copies the metrics of every epoch to the results: folders of runs are large and get deleted, and
// tables have the kept epoch only.
void write_curve(const PlannedRun& run, const std::string& metrics, const RunParams& params) {
  const Settings& settings = run.network.settings;
  const Json head = {{"run", run.name},
                     {"commit", kCommit},
                     {"versions", training_versions(settings)},
                     {"settings", portable(settings)}};
  write_text(curve_path(params.results, run.name), text_of_json(head) + "\n" + read_text(metrics));
}

std::string hardware_of(const RunParams& params) {
  if (params.device != "cpu") return cuda::describe_device();
  const std::string cores = std::to_string(thread_count(params.threads)) + " threads";
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with("model name")) continue;
    return line.substr(line.find(':') + 2) + ", " + cores;
  }
  return "CPU, " + cores;
}

}  // namespace

void check_trainings(const Plan& plan) {
  if (plan.done == plan.total) return;  // LibTorch takes a moment to load
#if DIML_HAS_TORCH
  for (const PlannedTraining& training : plan.trainings) {
    TrainParams params;
    params.settings = {training.settings.begin(), training.settings.end()};
    try {
      check_training(params);
    } catch (const Error& error) {
      throw with_context(error, training.name + ": ");
    }
  }
#endif
}

void execute(const PlannedRun& run, const RunParams& params, const RunHooks& hooks) {
  const NetworkSpec& network = run.network;
  const std::string folder = params.runs + "/" + run.name;
  std::optional<Lock> lock;
  Result result;
  std::string model;
  if (!network.trained) {
    model = untrained_weights(network, folder, params);
    result.projection = network.projection;
  } else {
    lock.emplace(folder);
    const RunState state = train_network(network.settings, folder, hooks.train);
    if (!state.finished) throw Error(ErrorKind::cancelled, run.name + ": the training was ended");
    model = folder + "/best.safetensors";
    if (!fs::exists(model)) {
      throw Error(ErrorKind::not_found, model + ": is missing: remove the folder to train again");
    }
    write_curve(run, folder + "/metrics.jsonl", params);
    result.settings = portable(network.settings);
    result.seed = value_or(network.settings, "seed", "0");
    result.epochs = state.epochs;
    result.epoch = state.epoch;
    result.train_seconds = state.seconds;
  }
  result.dataset = params.dataset;
  result.data = network.data;
  result.start_weights = network.start_weights.empty() ? kRandomWeights : network.start_weights;
  result.weights = sha256_of_file(model);
  result.commit = kCommit;
  result.hardware = hardware_of(params);
  result.precision = name_of(EmbeddingParams{}.precision);
  const auto write = [&](const PlannedResult& planned, const Measurement& measurement) {
    result.experiment = planned.experiment;
    result.row = planned.row;
    result.column = planned.column;
    result.protocol = planned.protocol;
    result.versions = merged(evaluation_versions(planned.protocol, planned.metric_family),
                             training_versions(result.settings));
    result.chosen = planned.chosen;
    result.metrics = measurement.metrics;
    result.images = measurement.images;
    result.evaluate_seconds = measurement.seconds;
    write_result(result_path(params.results, params.dataset, planned.experiment, planned.row,
                             planned.column, planned.other_seed),
                 result);
    if (hooks.on_result) hooks.on_result(result);
  };
  evaluate_network(model, network.trained || !network.projection.empty(), run.results, params,
                   Progress().with(hooks.train.cancelled), write);
}

}  // namespace diml::experiments
