#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/system_error.h"
#include "commit.h"
#include "diml/cuda_matcher.h"
#include "diml/error.h"
#include "diml/input_file.h"
#include "diml/network.h"
#include "diml/output_file.h"
#include "diml/run_experiments.h"
#include "diml/threads.h"
#include "engine/torch_plugin.h"
#include "look.h"
#include "network_cells.h"
#include "untrained.h"
#include "versions.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Where a run was trained, not what it is.
constexpr const char* kPlaces[] = {"dataset.root", "model.weights", "threads"};

// Nobody else works in the folder while it lives.
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

// What a run's folder says of it besides its own files.
struct RunState {
  bool finished = false;
  double seconds = 0.0;
  std::size_t epoch = 0;
  std::size_t epochs = 0;
};

RunState read_state(const std::string& path) {
  RunState state;
  if (!fs::exists(path)) return state;
  const std::vector<std::uint8_t> bytes = read_file(path);
  try {
    const Json json = Json::parse(bytes.begin(), bytes.end());
    state.finished = json.value("finished", false);
    state.seconds = json.value("seconds", 0.0);
    state.epoch = json.value("epoch", std::size_t{0});
    state.epochs = json.value("epochs", std::size_t{0});
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::damaged,
                path + ": says nothing about a run: remove the folder and train anew");
  }
  return state;
}

void write_state(const std::string& path, const RunState& state) {
  OutputFile file(path);
  const Json json = {{"finished", state.finished},
                     {"seconds", state.seconds},
                     {"epoch", state.epoch},
                     {"epochs", state.epochs}};
  file.write(json.dump(2) + "\n");
  file.commit();
}

TrainSummary trained(const TrainCall& call, const TrainHooks& hooks) {
#if DIML_HAS_TORCH
  return torch_plugin().train(call, hooks);
#else
  (void)hooks;
  throw Error(ErrorKind::unsupported,
              call.out + ": this build trains nothing: install libtorch-dev and build again");
#endif
}

RunState train_run(const PlannedRun& run, const std::string& folder, const TrainHooks& hooks) {
  const std::string path = folder + "/run.json";
  RunState state = read_state(path);
  if (state.finished) return state;
  TrainCall call;
  call.settings = {run.settings.begin(), run.settings.end()};
  call.out = folder;
  call.resume = fs::exists(folder + "/config.yaml");
  const auto start = std::chrono::steady_clock::now();
  const TrainSummary summary = trained(call, hooks);
  state.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  state.finished = !summary.stopped;
  state.epoch = summary.best.epoch;
  state.epochs = summary.last.epochs;
  write_state(path, state);
  return state;
}

// How the run went, epoch by epoch, beside the cells: runs are large and thrown away, tables say
// only what the kept epoch gives.
void write_curve(const PlannedRun& run, const std::string& metrics, const RunParams& params) {
  Json head = {
      {"run", run.name}, {"commit", kCommit}, {"versions", training_versions(run.settings)}};
  Settings settings = run.settings;
  for (const char* place : kPlaces) settings.erase(place);
  head["settings"] = settings;
  const std::string path = curve_path(params.results, run.name);
  make_folder(fs::path(path).parent_path().string());
  OutputFile file(path);
  file.write(head.dump() + "\n");
  const std::vector<std::uint8_t> lines = read_file(metrics);
  file.write(lines.data(), lines.size());
  file.commit();
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
  if (plan.done == plan.cells) return;  // LibTorch takes a moment to load
#if DIML_HAS_TORCH
  for (const NamedSettings& training : plan.trainings) {
    TrainCall call;
    call.settings = {training.settings.begin(), training.settings.end()};
    try {
      torch_plugin().check_training(call);
    } catch (const Error& error) {
      throw with_context(error, training.name + ": ");
    }
  }
#endif
}

bool execute(const PlannedRun& run, const RunParams& params, const RunHooks& hooks) {
  const std::string folder = params.runs + "/" + run.name;
  std::optional<Lock> lock;
  Cell cell;
  RunState state;
  std::string model;
  if (!run.trained) {
    model = untrained_weights(run, folder, params);
    cell.projection = run.projection;
  } else {
    lock.emplace(folder);
    state = train_run(run, folder, hooks.train);
    if (!state.finished) return false;
    model = folder + "/best.safetensors";
    if (!fs::exists(model)) {
      throw Error(ErrorKind::not_found, model + ": is gone: remove the folder and train anew");
    }
  }
  cell.dataset = params.dataset;
  cell.data = run.data;
  cell.start_weights = run.start_weights.empty() ? kRandomWeights : run.start_weights;
  cell.weights = sha256_of_file(model);
  cell.commit = kCommit;
  cell.hardware = hardware_of(params);
  cell.precision = name_of(NetworkParams{}.precision);
  if (run.trained) {
    cell.settings = run.settings;
    for (const char* place : kPlaces) cell.settings.erase(place);
    write_curve(run, folder + "/metrics.jsonl", params);
    const auto seed = run.settings.find("seed");
    cell.seed = seed == run.settings.end() ? "0" : seed->second;
    cell.epochs = state.epochs;
    cell.epoch = state.epoch;
    cell.train_seconds = state.seconds;
  }
  return look_at_network(model, run.trained || !run.projection.empty(), run.cells, params,
                         hooks.train.stop, [&](const PlannedCell& planned, const Seen& seen) {
                           cell.experiment = planned.experiment;
                           cell.row = planned.row;
                           cell.column = planned.column;
                           cell.look = settings_of(planned.look);
                           cell.versions = training_versions(cell.settings);
                           cell.versions.merge(look_versions(planned.look, planned.quantity));
                           cell.chosen = planned.chosen;
                           cell.numbers = seen.numbers;
                           cell.images = seen.images;
                           cell.look_seconds = seen.seconds;
                           write_cell(cell_path(params.results, params.dataset, planned.experiment,
                                                planned.row, planned.column, planned.other_seed),
                                      cell);
                           if (hooks.on_cell) hooks.on_cell(cell);
                         });
}

}  // namespace diml::experiments
