#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/system_error.h"
#include "command.h"
#include "diml/error.h"
#include "diml/output_file.h"
#include "diml/run_experiments.h"
#include "diml/threads.h"
#include "interrupt.h"
#include "options.h"
#include "train_reporter.h"

namespace diml::cli {
namespace {

namespace fs = std::filesystem;
using experiments::Cell;
using experiments::Plan;
using experiments::PlannedCell;
using experiments::PlannedRun;

// "9m", "90s", "1.5h", or a number of seconds.
double seconds_from(const std::string& text) {
  std::size_t read = 0;
  double value = -1.0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {  // told below
  }
  const std::string unit = text.substr(std::min(read, text.size()));
  const double factor = unit == "h"                   ? 3600.0
                        : unit == "m"                 ? 60.0
                        : unit.empty() || unit == "s" ? 1.0
                                                      : 0.0;
  constexpr double kLongest = 1e8;  // three years
  if (!(value > 0.0) || factor == 0.0 || value * factor > kLongest) {
    throw Error("--budget " + text + ": give a time, such as 9m, 90s or 1.5h");
  }
  return value * factor;
}

// Before anything is trained for it.
void make_own_folder(const std::string& path) {
  make_folder(path);
  if (::access(path.c_str(), W_OK) != 0) throw system_error(path + ": cannot be written to", errno);
}

struct RunCommand {
  experiments::RunParams params;
  std::vector<std::string> overrides;  // name=value
  std::string budget;
  std::size_t jobs = 1;
  std::string one;  // of the plan's runs, for a program beside others
  bool dry = false;

  void run();

 private:
  void here(const Plan& plan);
  void beside_each_other(const Plan& plan);
  std::vector<std::string> arguments_for(const PlannedRun& run) const;
  bool out_of_time() const { return std::chrono::steady_clock::now() >= deadline_; }
  void keep_one(Plan& plan) const;
  void make_all(Plan& plan);
  static void tell_cell(const Cell& cell);
  static void tell_plan(const Plan& plan);

  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::vector<std::string> failed_{};
};

void RunCommand::tell_cell(const Cell& cell) {
  std::printf("%s, %s, %s:", cell.experiment.c_str(), cell.row.c_str(), cell.column.c_str());
  for (const auto& [name, value] : cell.numbers) std::printf(" %s %.2f", name.c_str(), value);
  std::printf("\n");
  std::fflush(stdout);
}

void RunCommand::here(const Plan& plan) {
  for (const PlannedRun& run : plan.runs) {
    if (Interrupt::asked() || out_of_time()) return;
    std::printf("%s\n", run.name.c_str());
    TrainReporter reporter;
    experiments::RunHooks hooks;
    reporter.connect(hooks.train);
    hooks.train.stop = [this] { return Interrupt::asked() || out_of_time(); };
    hooks.on_cell = tell_cell;
    try {
      if (!experiments::execute(run, params, hooks)) return;
    } catch (const Error& error) {  // the others may be better off
      if (!one.empty()) throw;
      std::printf("%s: failed: %s\n", run.name.c_str(), error.what());
      failed_.emplace_back(error.what());
    }
  }
}

std::vector<std::string> RunCommand::arguments_for(const PlannedRun& run) const {
  const int threads = std::max(1, thread_count(params.threads) / static_cast<int>(jobs));
  std::vector<std::string> arguments = {fs::read_symlink("/proc/self/exe").string(), "experiments",
                                        "run"};
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  arguments.insert(arguments.end(), params.files.begin(), params.files.end());
  add("--dataset", params.dataset);
  add("--root", params.root);
  add("--model", params.model);
  add("--results", params.results);
  add("--runs", params.runs);
  add("--device", params.device);
  add("--threads", std::to_string(threads));
  for (const std::string& row : params.only) add("--only", row);
  for (const std::string& setting : overrides) add("--set", setting);
  add("--run", run.name);
  return arguments;
}

void RunCommand::beside_each_other(const Plan& plan) {
  std::vector<experiments::Job> all;
  for (const PlannedRun& run : plan.runs) {
    all.push_back({run.name, arguments_for(run), params.runs + "/" + run.name + ".log"});
  }
  const auto stop = [this] { return Interrupt::asked() || out_of_time(); };
  experiments::run_side_by_side(all, jobs, stop, [&](const experiments::JobEnd& end) {
    const std::string log = params.runs + "/" + end.name + ".log";
    if (end.status == 0) {
      std::printf("%s: done in %.0f s\n", end.name.c_str(), end.seconds);
    } else if (stop()) {
      std::printf("%s: stopped after %.0f s\n", end.name.c_str(), end.seconds);
    } else {
      std::printf("%s: failed after %.0f s; why is in %s\n", end.name.c_str(), end.seconds,
                  log.c_str());
      failed_.push_back("why is in " + log);
    }
    std::fflush(stdout);
  });
}

// For a program beside others: it ends when the one that began it does.
void RunCommand::keep_one(Plan& plan) const {
  ::prctl(PR_SET_PDEATHSIG, SIGINT);
  std::erase_if(plan.runs, [&](const PlannedRun& run) { return run.name != one; });
  if (plan.runs.empty()) {
    throw Error("no missing cell is of a run '" + one + "': --dry-run lists them");
  }
}

void RunCommand::tell_plan(const Plan& plan) {
  for (const PlannedRun& run : plan.runs) {
    for (const PlannedCell& cell : run.cells) {
      std::printf("%s: %s, %s, %s\n", run.name.c_str(), cell.experiment.c_str(), cell.row.c_str(),
                  cell.column.c_str());
    }
  }
}

// Once more while there is something new: of what is there then a choice may be made. Leaves what
// is missing afterwards.
void RunCommand::make_all(Plan& plan) {
  while (!plan.runs.empty()) {
    if (jobs > 1) {
      beside_each_other(plan);
    } else {
      here(plan);
    }
    const std::size_t before = plan.done;
    plan = experiments::make_plan(params);
    if (Interrupt::asked() || out_of_time() || !failed_.empty() || plan.done == before) return;
  }
}

void RunCommand::run() {
  for (const std::string& text : overrides) {
    const auto [name, value] = setting_from(text, "epochs=30");
    params.overrides[name] = value;
  }
  if (!budget.empty()) {
    deadline_ = std::chrono::steady_clock::now() +
                std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * seconds_from(budget)));
  }
  for (const auto& [option, folder] :
       {std::pair{"--results", &params.results}, {"--runs", &params.runs}}) {
    if (folder->empty()) throw Error(std::string(option) + ": name a folder");
  }
  const Interrupt interrupt;
  Plan plan = experiments::make_plan(params);
  if (!one.empty()) {
    keep_one(plan);
  } else {
    experiments::check_trainings(plan);
    if (plan.outdated > 0) {
      std::printf("made with other settings, weights or data, to be replaced: %zu\n",
                  plan.outdated);
    }
    for (const auto& [part, cells] : plan.stale) {
      std::printf("stale, made by an older version of the program: %zu by %s\n", cells,
                  part.c_str());
    }
  }
  if (dry) {
    tell_plan(plan);
  } else if (!one.empty()) {
    here(plan);
  } else {
    make_own_folder(params.results);
    make_own_folder(params.runs);
    make_all(plan);
  }
  if (Interrupt::asked()) throw Error("stopped; the same command goes on");
  if (!one.empty()) return;
  const bool goes_on = plan.done < plan.cells && !dry && failed_.empty() && plan.waiting.empty();
  std::printf("%zu of %zu cells are there%s\n", plan.done, plan.cells,
              goes_on ? "; the same command goes on" : "");
  for (const std::string& choice : plan.waiting) {
    std::printf("%s is chosen when the cells of all rows are there\n", choice.c_str());
  }
  if (failed_.empty()) return;
  throw Error(std::to_string(failed_.size()) +
              (failed_.size() == 1 ? " run failed: " : " runs failed, the first one: ") +
              failed_.front());
}

Run define_run(CLI::App& command) {
  auto options = std::make_shared<RunCommand>();
  experiments::RunParams& params = options->params;
  command.add_option("files", params.files, "Tables, such as experiments/main.yaml")->required();
  command.add_option("--dataset", params.dataset, "Labelled images: see 'diml list datasets'")
      ->required();
  command.add_option("--root", params.root, "Where the data set lies")->required();
  command.add_option("--model", params.model, "Weights to begin with; random ones without it");
  params.results = "experiments/results";
  command.add_option("--results", params.results, "Folder of the cells: one small file each")
      ->capture_default_str();
  params.runs = "runs";
  command.add_option("--runs", params.runs, "Folder of the training runs: large")
      ->capture_default_str();
  command.add_option("--device", params.device, "cpu, cuda or cuda:1")->capture_default_str();
  command.add_option("--threads", params.threads, "Threads of all runs together; 0 for all cores");
  command
      .add_option("--jobs", options->jobs,
                  "Runs side by side; three fill a large GPU that one does not")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--budget", options->budget,
                     "Stop cleanly after this time: 9m, 90s, 1.5h; the same command goes on");
  command.add_option("--only", params.only, "These rows alone");
  command.add_option(
      "--set", options->overrides,
      "Any setting of the training: --set epochs=30; seed=1 adds a seed to the tables");
  command.add_flag("--dry-run", options->dry, "Say what is missing and do nothing");
  command.add_option("--run", options->one, "One of the runs alone, by the name of its folder");
  return [options] { options->run(); };
}

Run define_report(CLI::App& command) {
  auto params = std::make_shared<experiments::ReportParams>();
  command.add_option("results", params->results, "Folder of the cells")->required();
  command.add_option("--experiments", params->experiments,
                     "Folder of the tables; the one that holds the results without it");
  params->out = "docs";
  command.add_option("--out", params->out, "Gets results.md, and results/ with .csv, .tex, .svg")
      ->capture_default_str();
  return [params] {
    if (params->experiments.empty()) {
      params->experiments = fs::weakly_canonical(params->results).parent_path().string();
    }
    for (const std::string& file : experiments::write_report(*params)) {
      std::printf("%s\n", file.c_str());
    }
  };
}

}  // namespace

Run define_experiments(CLI::App& command) {
  command.require_subcommand(1);
  CLI::App* run = command.add_subcommand("run", "Train and evaluate what is missing of tables");
  CLI::App* report = command.add_subcommand("report", "Tables and plots of what there is");
  run->footer(
      "Example:\n  diml experiments run experiments/main.yaml --dataset cub200 --root CUB_200_2011 "
      "--model resnet50 --device cuda --budget 9m");
  report->footer("Example:\n  diml experiments report experiments/results --out docs");
  const Run do_run = define_run(*run);
  const Run do_report = define_report(*report);
  return [=] { run->parsed() ? do_run() : do_report(); };
}

}  // namespace diml::cli
