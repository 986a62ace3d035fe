#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/output_file.h"
#include "base/setting_text.h"
#include "base/shown_text.h"
#include "base/system_error.h"
#include "base/threads.h"
#include "command.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "diml/evaluate_dataset.h"
#include "experiments/run_experiments.h"
#include "interrupt.h"
#include "options.h"
#include "train_reporter.h"

namespace diml::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using experiments::Plan;
using experiments::PlannedResult;
using experiments::PlannedRun;
using experiments::Result;

// "9m", "90s", "1.5h", or a number of seconds.
double seconds_from(const std::string& text) {
  constexpr double kLongest = 1e8;  // three years
  static const std::map<char, double> kUnits = {{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}};
  std::string_view number = text;
  double unit = 1.0;
  if (const auto found = kUnits.find(text.back()); found != kUnits.end()) {
    unit = found->second;
    number.remove_suffix(1);
  }
  double value = 0.0;
  if (!text::from_text(number, value) || !(value > 0.0) || value * unit > kLongest) {
    throw Error("--budget " + text + ": give a time, such as 9m, 90s or 1.5h");
  }
  return value * unit;
}

// Makes the folder and throws where it is read-only, before the first training.
void make_writable_folder(const std::string& path) {
  make_folder(path);
  if (::access(path.c_str(), W_OK) != 0) throw system_error(path + ": cannot be written to", errno);
}

void print_result(const Result& result) {
  std::printf("%s, %s, %s:", result.experiment.c_str(), result.row.c_str(), result.column.c_str());
  for (const auto& [name, value] : result.metrics) std::printf(" %s %.2f", name.c_str(), value);
  std::printf("\n");
  std::fflush(stdout);
}

void print_plan(const Plan& plan) {
  for (const PlannedRun& run : plan.runs) {
    for (const PlannedResult& result : run.results) {
      std::printf("%s: %s, %s, %s\n", run.name.c_str(), result.experiment.c_str(),
                  result.row.c_str(), result.column.c_str());
    }
  }
}

void print_replaced(const Plan& plan) {
  if (plan.outdated > 0) {
    std::printf("made with other settings, weights or data, to be replaced: %zu\n", plan.outdated);
  }
  for (const auto& [part, results] : plan.stale) {
    std::printf("stale, made by an older version of the program: %zu by %s\n", results,
                part.c_str());
  }
}

// Trainings and evaluations take photos with a class alone.
void tell_left_out(Dataset data, const std::string& root) {
  data.without_class = static_cast<std::size_t>(
      std::count_if(data.samples.begin(), data.samples.end(),
                    [](const Sample& sample) { return sample.label < 0; }));
  for (const std::string& line : left_out_of(data, root)) std::printf("%s\n", line.c_str());
  if (const std::size_t without = labelled_images(data).without_role; without > 0) {
    std::printf("%s: %zu images are neither queries nor in the gallery and are not evaluated\n",
                root.c_str(), without);
  }
}

struct RunCommand {
  experiments::RunParams params;
  std::vector<std::string> overrides;  // name=value
  std::string budget;
  std::size_t jobs = 1;
  std::string only_run;  // name of one run of the plan: this process is a job of another
  bool dry_run = false;

  void run();

 private:
  void run_here(const Plan& plan);
  void run_as_jobs(const Plan& plan);
  void run_all(Plan& plan);
  std::vector<std::string> arguments_for(const PlannedRun& run) const;
  bool stopped() const { return Interrupt::asked() || Clock::now() >= deadline_; }
  void keep_only_run(Plan& plan) const;
  void print_summary(const Plan& plan) const;

  Clock::time_point deadline_ = Clock::time_point::max();
  std::vector<std::string> failed_{};
};

void RunCommand::run_here(const Plan& plan) {
  for (const PlannedRun& run : plan.runs) {
    if (stopped()) return;
    std::printf("%s\n", run.name.c_str());
    TrainReporter reporter;
    experiments::RunHooks hooks;
    reporter.connect(hooks.train);
    hooks.train.cancelled = [this] { return stopped(); };
    hooks.on_result = print_result;
    try {
      experiments::execute(run, params, hooks);
    } catch (const Error& error) {  // the other runs continue
      if (error.kind() == ErrorKind::cancelled) return;
      if (!only_run.empty()) throw;
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

void RunCommand::run_as_jobs(const Plan& plan) {
  const auto log_of = [&](const std::string& name) { return params.runs + "/" + name + ".log"; };
  const auto stop = [this] { return stopped(); };
  std::vector<experiments::Job> all;
  for (const PlannedRun& run : plan.runs) {
    all.push_back({run.name, arguments_for(run), log_of(run.name)});
  }
  experiments::run_jobs(all, jobs, stop, [&](const experiments::FinishedJob& job) {
    const bool failed = job.status != 0 && !stopped();
    const char* end = job.status == 0 ? "done in" : failed ? "failed after" : "stopped after";
    std::printf("%s: %s %.0f s", job.name.c_str(), end, job.seconds);
    if (failed) {
      failed_.push_back("the reason is in " + log_of(job.name));
      std::printf("; %s", failed_.back().c_str());
    }
    std::printf("\n");
    std::fflush(stdout);
  });
}

// In a job: ends with the process that started it.
void RunCommand::keep_only_run(Plan& plan) const {
  ::prctl(PR_SET_PDEATHSIG, SIGINT);
  std::erase_if(plan.runs, [&](const PlannedRun& run) { return run.name != only_run; });
  if (plan.runs.empty()) {
    throw Error("no missing result belongs to a run '" + only_run + "': --dry-run lists them");
  }
}

void RunCommand::print_summary(const Plan& plan) const {
  const bool resumable =
      plan.done < plan.total && !dry_run && failed_.empty() && plan.waiting.empty();
  std::printf("%zu of %zu results are there%s\n", plan.done, plan.total,
              resumable ? "; the same command continues" : "");
  for (const std::string& choice : plan.waiting) {
    std::printf("%s is chosen when the results of all rows are there\n", choice.c_str());
  }
}

// Repeats while there are new results: they may complete a choice. Leaves the plan of what is still
// missing.
void RunCommand::run_all(Plan& plan) {
  while (!plan.runs.empty()) {
    if (jobs > 1) {
      run_as_jobs(plan);
    } else {
      run_here(plan);
    }
    const std::size_t before = plan.done;
    plan = experiments::make_plan(params);
    if (stopped() || !failed_.empty() || plan.done == before) return;
  }
}

void RunCommand::run() {
  for (const std::string& text : overrides) {
    const auto [name, value] = setting_from(text, "epochs=30");
    params.overrides[name] = value;
  }
  if (!budget.empty()) {
    deadline_ = Clock::now() +
                std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * seconds_from(budget)));
  }
  for (const auto& [option, folder] :
       {std::pair{"--results", &params.results}, {"--runs", &params.runs}}) {
    if (folder->empty()) throw Error(std::string(option) + ": name a folder");
  }
  const Interrupt interrupt;
  Plan plan = experiments::make_plan(params);
  if (!only_run.empty()) {
    keep_only_run(plan);
  } else {
    experiments::check_trainings(plan);
    tell_left_out(load_dataset(params.dataset, params.root, Split::all), params.root);
    print_replaced(plan);
  }
  if (dry_run) {
    print_plan(plan);
  } else if (!only_run.empty()) {
    run_here(plan);
  } else {
    make_writable_folder(params.results);
    make_writable_folder(params.runs);
    run_all(plan);
  }
  if (Interrupt::asked()) throw Error("stopped; the same command continues");
  if (!only_run.empty()) return;
  print_summary(plan);
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
  command.add_option("--root", params.root, "Folder of the data set")->required();
  command.add_option("--model", params.model, "Starting weights; random without it");
  params.results = "experiments/results";
  command.add_option("--results", params.results, "Folder of the results: one small file each");
  params.runs = "runs";
  command.add_option("--runs", params.runs, "Folder of the training runs: large");
  command.add_option("--device", params.device, "cpu, cuda or cuda:1");
  command.add_option("--threads", params.threads, "Threads of all runs together; 0: all cores");
  command
      .add_option("--jobs", options->jobs,
                  "Runs at a time; one alone does not fill a large GPU, three do")
      ->check(CLI::Range(1, 64));
  command.add_option("--budget", options->budget,
                     "Stop after this time: 9m, 90s, 1.5h; the same command continues");
  command.add_option("--only", params.only, "Only these rows");
  command.add_option(
      "--set", options->overrides,
      "Any setting of the trainings: --set epochs=30; seed=1 adds a seed to the tables");
  command.add_flag("--dry-run", options->dry_run, "List the missing results and do nothing");
  command.add_option("--run", options->only_run, "Only this run, by the name of its folder");
  return [options] { options->run(); };
}

Run define_report(CLI::App& command) {
  auto params = std::make_shared<experiments::ReportParams>();
  command.add_option("results", params->results, "Folder of the results")->required();
  command.add_option("--experiments", params->experiments,
                     "Folder of the tables; without it the one that holds the results");
  params->out = "docs";
  command.add_option("--out", params->out, "Gets results.md, and results/ with .csv, .tex, .svg");
  return [params] {
    if (params->experiments.empty()) {
      params->experiments = fs::weakly_canonical(params->results).parent_path().string();
    }
    for (const std::string& file : experiments::write_report(*params)) {
      std::printf("%s\n", shown(file).c_str());
    }
  };
}

}  // namespace

Run define_experiments(CLI::App& command) {
  command.require_subcommand(1);
  CLI::App* run = command.add_subcommand("run", "Train and evaluate the missing results of tables");
  CLI::App* report = command.add_subcommand("report", "Write tables and plots of the results");
  run->footer(
      "Example:\n  diml experiments run experiments/main.yaml --dataset cub200 --root CUB_200_2011 "
      "--model resnet50 --device cuda --budget 9m");
  report->footer("Example:\n  diml experiments report experiments/results --out docs");
  const Run do_run = define_run(*run);
  const Run do_report = define_report(*report);
  return [=] { run->parsed() ? do_run() : do_report(); };
}

}  // namespace diml::cli
