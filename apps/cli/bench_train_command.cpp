// What structural matching costs in training: the time of a step with each measure, in one run.

#include <algorithm>
#include <cstdio>

#include "base/temporary_folder.h"
#include "bench_photos.h"
#include "bench_tools.h"
#include "command.h"
#include "diml/error.h"
#include "engine/torch_plugin.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct BenchTrainCommand {
  std::string backbone = "small";
  std::string loss = "margin";
  std::string device = "cpu";
  std::string precision = "float32";
  std::string dataset;
  std::string root;
  std::vector<std::string> measures = {"global", "structural", "blended"};
  std::size_t batch = 112;
  std::size_t epochs = 6;
  std::size_t steps = 4;
  std::size_t cache_mb = 16384;
  int threads = 0;
  std::string json;

  void run();
  Json measured(const std::string& measure, const std::string& scratch) const;
};

Json BenchTrainCommand::measured(const std::string& measure, const std::string& scratch) const {
  TrainParams params;
  params.out = scratch + "/" + measure;
  params.settings = {{"dataset.name", dataset},
                     {"dataset.root", root},
                     {"model.architecture", backbone},
                     {"loss.name", loss},
                     {"measure.kind", measure},
                     {"sampler.batch", std::to_string(batch)},
                     {"epochs", std::to_string(epochs)},
                     {"evaluate.every", std::to_string(epochs)},
                     {"evaluate.rerank", "0"},
                     {"device", device},
                     {"precision", precision},
                     {"cache_mb", std::to_string(cache_mb)},
                     {"threads", std::to_string(threads)}};
  double per_epoch = 0.0;
  double first = 0.0;  // which decodes the pictures
  std::vector<double> seconds;
  std::vector<double> plans;
  TrainHooks hooks;
  const Progress bar = progress_bar(measure);
  hooks.on_step = [&](const StepReport& step) {
    per_epoch = static_cast<double>(step.steps);
    bar((step.epoch - 1) * step.steps + step.step, step.epochs * step.steps);
  };
  hooks.on_epoch = [&](const EpochReport& epoch) {
    if (epoch.epoch == 0) return;
    if (epoch.epoch == 1) {
      first = epoch.seconds / per_epoch;
      return;
    }
    seconds.push_back(epoch.seconds / per_epoch);
    plans.push_back(epoch.plan_seconds / per_epoch);
  };
  train(params, hooks);
  if (seconds.empty()) throw Error("--epochs must be at least 2");
  const double step = median(seconds);
  return {{"measure", measure},
          {"ms_per_step", 1e3 * step},
          {"images_per_second", static_cast<double>(batch) / step},
          {"first_epoch_images_per_second", static_cast<double>(batch) / first},
          {"plans_ms_per_step", 1e3 * median(plans)}};
}

void BenchTrainCommand::run() {
  JsonOutput output(json);
  const TemporaryFolder scratch;
  if (dataset.empty()) {
    dataset = "folder";
    root = scratch.path() + "/photos";
    // Half of the classes are the test classes.
    const std::size_t side = backbone == "small" ? 128 : 256;
    write_bench_photos(root, 2 * std::max<std::size_t>(2, batch / 2), 2 * steps, side);
  }
  Json report = {{"backbone", backbone}, {"loss", loss},           {"batch", batch},
                 {"device", device},     {"precision", precision}, {"dataset", dataset}};
  for (const std::string& measure : measures) {
    Json row = measured(measure, scratch.path());
    const Json& base = report.contains("measures") ? report["measures"][0] : row;
    row["ratio"] = row["ms_per_step"].get<double>() / base["ms_per_step"].get<double>();
    report["measures"].push_back(row);
  }
  output.write(report);
  if (output.takes_standard_output()) return;
  std::printf("%s, %s loss, batches of %zu, %s on %s\n\n%-11s %11s %10s %8s %22s\n",
              backbone.c_str(), loss.c_str(), batch, precision.c_str(), device.c_str(), "measure",
              "ms/step", "images/s", "ratio", "of which plans");
  for (const Json& row : report["measures"]) {
    std::printf("%-11s %11.1f %10.0f %8.2f %15.1f (%2.0f %%)\n",
                row["measure"].get<std::string>().c_str(), row["ms_per_step"].get<double>(),
                row["images_per_second"].get<double>(), row["ratio"].get<double>(),
                row["plans_ms_per_step"].get<double>(),
                100.0 * row["plans_ms_per_step"].get<double>() / row["ms_per_step"].get<double>());
  }
  std::printf("\nthe first epoch, which decodes every file: %.0f images/s\n",
              report["measures"][0]["first_epoch_images_per_second"].get<double>());
}

}  // namespace

Run define_bench_train(CLI::App& command) {
  auto options = std::make_shared<BenchTrainCommand>();
  command.add_option("--backbone", options->backbone, "Architecture");
  command.add_option("--loss", options->loss, "Loss");
  command
      .add_option("--measures", options->measures, "Measures to time; ratios are to the first one")
      ->delimiter(',');
  command.add_option("--device", options->device, "cpu, cuda or cuda:1");
  command.add_option("--precision", options->precision, "float32 or bfloat16");
  CLI::Option* name = command.add_option("--dataset", options->dataset,
                                         "Data set to train on instead of generated pictures");
  CLI::Option* folder = command.add_option("--root", options->root, "Its folder");
  name->needs(folder);
  folder->needs(name);
  command.add_option("--batch", options->batch, "Images per step")->check(CLI::Range(4, 1024));
  command.add_option("--epochs", options->epochs, "Epochs; the first one is not timed")
      ->check(CLI::Range(2, 1000));
  command.add_option("--steps", options->steps, "Steps of an epoch of generated pictures")
      ->check(CLI::Range(1, 1000));
  command.add_option("--cache-mb", options->cache_mb,
                     "Memory for decoded pictures; 0 decodes the files in every epoch");
  define_threads(command, options->threads);
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer("Example:\n  diml bench train --loss margin");
  return [options] { options->run(); };
}

}  // namespace diml::cli
