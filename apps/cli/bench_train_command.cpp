// What structural matching costs in training: the time of a step with each measure, in one run.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bench_tools.h"
#include "command.h"
#include "diml/critters.h"
#include "diml/error.h"
#include "diml/temporary_folder.h"
#include "diml/torch_plugin.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct BenchTrainCommand {
  std::string backbone = "small";
  std::string loss = "margin";
  std::size_t batch = 112;
  std::size_t epochs = 6;
  int threads = 0;
  std::string json;

  void run() const;
};

void BenchTrainCommand::run() const {
  JsonOutput output(json);
  const TemporaryFolder scratch;
  const std::string pictures = scratch.path() + "/critters";
  constexpr std::size_t kSteps = 4;  // an epoch
  CrittersParams critters;
  critters.classes = 2 * std::max<std::size_t>(2, batch / 2);
  critters.images_per_class = 2 * kSteps;
  critters.size = 128;
  write_critters(pictures, critters, progress_bar("draw"));

  Json report = {{"backbone", backbone}, {"loss", loss}, {"batch", batch}};
  double of_global = 0.0;
  for (const char* measure : {"global", "structural", "blended"}) {
    TrainCall call;
    call.out = scratch.path() + "/" + measure;
    call.settings = {{"dataset.name", "critters"},       {"dataset.root", pictures},
                     {"model.architecture", backbone},   {"loss.name", loss},
                     {"measure.kind", measure},          {"sampler.batch", std::to_string(batch)},
                     {"epochs", std::to_string(epochs)}, {"evaluate.every", std::to_string(epochs)},
                     {"evaluate.rerank", "0"},           {"threads", std::to_string(threads)}};
    std::vector<double> steps;
    std::vector<double> plans;
    TrainHooks hooks;
    hooks.on_epoch = [&](const EpochReport& epoch) {
      if (epoch.epoch < 2) return;  // the first decodes the pictures
      steps.push_back(epoch.seconds / kSteps);
      plans.push_back(epoch.plan_seconds / kSteps);
    };
    torch_plugin().train(call, hooks);
    if (steps.empty()) throw Error("--epochs must be at least 2");
    const double step = median(steps);
    if (of_global == 0.0) of_global = step;
    report["measures"].push_back({{"measure", measure},
                                  {"ms_per_step", 1e3 * step},
                                  {"ratio", step / of_global},
                                  {"plans_ms_per_step", 1e3 * median(plans)}});
  }
  output.write(report);
  if (output.takes_standard_output()) return;
  std::printf("%s, %s loss, batches of %zu\n\n%-11s %11s %8s %22s\n", backbone.c_str(),
              loss.c_str(), batch, "measure", "ms/step", "ratio", "of which plans");
  for (const Json& row : report["measures"]) {
    std::printf("%-11s %11.1f %8.2f %15.1f (%2.0f %%)\n", row["measure"].get<std::string>().c_str(),
                row["ms_per_step"].get<double>(), row["ratio"].get<double>(),
                row["plans_ms_per_step"].get<double>(),
                100.0 * row["plans_ms_per_step"].get<double>() / row["ms_per_step"].get<double>());
  }
}

}  // namespace

Run define_bench_train(CLI::App& command) {
  auto options = std::make_shared<BenchTrainCommand>();
  command.add_option("--backbone", options->backbone, "Architecture")->capture_default_str();
  command.add_option("--loss", options->loss, "Loss")->capture_default_str();
  command.add_option("--batch", options->batch, "Images a step")
      ->check(CLI::Range(4, 1024))
      ->capture_default_str();
  command.add_option("--epochs", options->epochs, "Of four steps each, the first not counted")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command.add_option("--threads", options->threads, "Threads; 0 for all cores")
      ->capture_default_str();
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer("Example:\n  diml bench train --loss margin");
  return [options] { options->run(); };
}

}  // namespace diml::cli
