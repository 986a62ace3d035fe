#include <cstdio>

#include "command.h"
#include "diml/error.h"
#include "engine/torch_plugin.h"
#include "interrupt.h"
#include "options.h"
#include "train_reporter.h"

namespace diml::cli {
namespace {

struct TrainCommand {
  TrainParams params;
  std::vector<std::string> overrides;  // name=value
  std::string json;

  void run();
};

// The contract of `diml train --json`: percentages under the names of metrics.jsonl.
Json to_json(const EpochReport& report) {
  Json json = {{"epoch", report.epoch}};
  if (report.epoch > 0) json["loss"] = report.loss;
  json["results"] = Json::array();
  for (const RerankResult& result : report.results) {
    json["results"].push_back({{"rerank", result.rerank},
                               {"p_at_1", 100.0 * result.metrics.p_at_1},
                               {"r_precision", 100.0 * result.metrics.r_precision},
                               {"map_at_r", 100.0 * result.metrics.map_at_r}});
  }
  return json;
}

Json to_json(const TrainPlan& plan) {
  Json json = {{"classes", plan.classes},
               {"images", plan.images},
               {"held_out_classes", plan.held_out_classes},
               {"held_out_images", plan.held_out_images},
               {"split", plan.split},
               {"best_by", plan.best_by},
               {"left_out", plan.left_out},
               {"chosen", Json::object()}};
  for (const auto& [name, value] : plan.chosen) json["chosen"][name] = value;
  return json;
}

// Prints nothing where nothing was skipped.
void tell_skipped(const TrainSummary& summary, const std::string& list) {
  if (!summary.skipped || summary.bad.empty()) return;
  std::fprintf(
      stderr,
      "%zu photos could not be read (%s): %zu draws were replaced by another photo of the class, "
      "and %zu of %zu photos were not evaluated\n",
      summary.bad.size(), list.c_str(), summary.skipped->replaced_draws,
      summary.skipped->not_judged, summary.skipped->judged + summary.skipped->not_judged);
}

void TrainCommand::run() {
  for (const std::string& text : overrides) {
    params.settings.push_back(setting_from(text, "loss.margin=0.3"));
  }
  const Interrupt interrupt;
  JsonOutput output(json);
  TrainReporter reporter(!output.takes_standard_output());
  TrainHooks hooks;
  reporter.connect(hooks);
  const TrainSummary summary = train(params, hooks);
  if (summary.cancelled) {
    throw Error("stopped; 'diml train --resume --out " + params.out + "' continues");
  }
  if (summary.best.results.empty()) return;  // of several processes only one prints
  const std::string best = params.out + "/best.safetensors";
  if (!output.takes_standard_output()) {
    std::printf("best: epoch %zu%s by %s, %s\n", summary.best.epoch,
                summary.best.epoch == 0 ? " (untrained)" : "", summary.plan.best_by.c_str(),
                best.c_str());
  }
  tell_skipped(summary, params.out + "/bad.txt");
  Json told = {{"model", best},
               {"plan", to_json(summary.plan)},
               {"untrained", to_json(summary.untrained)},
               {"best", to_json(summary.best)},
               {"last", to_json(summary.last)}};
  if (summary.skipped) {
    told["bad"] = {{"photos", summary.bad},
                   {"replaced_draws", summary.skipped->replaced_draws},
                   {"judged", summary.skipped->judged},
                   {"not_judged", summary.skipped->not_judged}};
  }
  output.write(told);
}

}  // namespace

Run define_train(CLI::App& command) {
  auto options = std::make_shared<TrainCommand>();
  TrainParams& params = options->params;
  command.add_option("--recipe", params.recipes, "YAML files with settings; later ones win");
  // The most frequent settings have options of their own.
  const auto setting = [&](const char* option, const char* name, const char* help) {
    command.add_option_function<std::string>(
        option,
        [options, name](const std::string& value) {
          options->params.settings.emplace_back(name, value);
        },
        help);
  };
  setting("--dataset", "dataset.name", "Labelled images: see 'diml list datasets'");
  setting("--root", "dataset.root", "Folder of the data set");
  setting("--model", "model.weights", "Starting weights; random without it");
  setting("--backbone", "model.architecture", "Architecture of random weights");
  setting("--loss", "loss.name", "The loss: see 'diml list losses'");
  setting("--miner", "loss.miner", "See 'diml list miners'; without it, the default of the loss");
  setting("--measure", "measure.kind", "What the loss compares by: global, structural or blended");
  setting("--epochs", "epochs", "How many");
  setting("--batch", "sampler.batch", "Images in a batch");
  setting("--learning-rate,--lr", "optimiser.learning_rate", "Learning rate of the backbone");
  setting("--select", "evaluate.select",
          "Classes that select the best epoch: test or val; last: the last epoch");
  setting("--seed", "seed", "Random seed of the run");
  setting("--device", "device", "cpu, cuda or cuda:1");
  setting("--precision", "precision", "float32, or bfloat16 for the maps of the network");
  setting("--threads", "threads", "Threads; 0 for all cores");
  command.add_flag_callback(
      "--skip-bad",
      [options] { options->params.settings.emplace_back("dataset.skip_bad", "true"); },
      "Skip images that cannot be read, and list them");
  command.add_option("--set", options->overrides, "Any setting: --set loss.margin=0.3");
  command.add_option("--out", params.out, "The run's folder")->required();
  command.add_flag("--resume", params.resume, "Continue from the folder's last checkpoint");
  command.add_option("--json", options->json,
                     "The results before, at the best and at the end, to a file; - for standard "
                     "output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
