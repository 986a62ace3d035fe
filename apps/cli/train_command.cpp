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
  TrainCall call;
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

// Nothing is said where nothing was skipped.
void tell_skipped(const TrainSummary& summary, const std::string& list) {
  if (!summary.skipped || summary.bad.empty()) return;
  std::fprintf(stderr,
               "%zu photos could not be read (%s): %zu draws showed another photo of the class, "
               "and %zu of %zu photos were not judged\n",
               summary.bad.size(), list.c_str(), summary.skipped->replaced_draws,
               summary.skipped->not_judged, summary.skipped->judged + summary.skipped->not_judged);
}

void TrainCommand::run() {
  for (const std::string& text : overrides) {
    call.settings.push_back(setting_from(text, "loss.margin=0.3"));
  }
  const Interrupt interrupt;
  JsonOutput output(json);
  TrainReporter reporter(!output.takes_standard_output());
  TrainHooks hooks;
  reporter.connect(hooks);
  const TrainSummary summary = torch_plugin().train(call, hooks);
  if (summary.stopped) {
    throw Error("stopped; 'diml train --resume --out " + call.out + "' goes on");
  }
  if (summary.best.results.empty()) return;  // of several processes one speaks
  const std::string best = call.out + "/best.safetensors";
  if (!output.takes_standard_output()) {
    std::printf("best: epoch %zu, %s\n", summary.best.epoch, best.c_str());
  }
  tell_skipped(summary, call.out + "/bad.txt");
  Json told = {{"model", best},
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
  TrainCall& call = options->call;
  command.add_option("--recipe", call.recipes, "YAML files with settings; later ones win");
  // The settings that are named most often have options of their own.
  const auto setting = [&](const char* option, const char* name, const char* help) {
    command.add_option_function<std::string>(
        option,
        [options, name](const std::string& value) {
          options->call.settings.emplace_back(name, value);
        },
        help);
  };
  setting("--dataset", "dataset.name", "Labelled images: see 'diml list datasets'");
  setting("--root", "dataset.root", "Where the data set lies");
  setting("--model", "model.weights", "Weights to begin with; random ones without it");
  setting("--backbone", "model.architecture", "Architecture of random weights");
  setting("--loss", "loss.name", "See 'diml list losses'");
  setting("--miner", "loss.miner", "See 'diml list miners'; the loss's own without it");
  setting("--measure", "measure.kind", "What the loss compares by: global, structural or blended");
  setting("--epochs", "epochs", "How many");
  setting("--learning-rate", "optimiser.learning_rate", "Of the backbone");
  setting("--select", "evaluate.select", "Which classes choose the best: test, val, or none: last");
  setting("--seed", "seed", "Other seed, other run");
  setting("--device", "device", "cpu, cuda or cuda:1");
  setting("--precision", "precision", "float32, or bfloat16 for the maps of the network");
  setting("--threads", "threads", "Threads; 0 for all cores");
  command.add_flag_callback(
      "--skip-bad", [options] { options->call.settings.emplace_back("dataset.skip_bad", "true"); },
      "Go on without images that cannot be read, and say which");
  command.add_option("--set", options->overrides, "Any setting: --set loss.margin=0.3");
  command.add_option("--out", call.out, "The run's folder")->required();
  command.add_flag("--resume", call.resume, "Go on from the folder's last checkpoint");
  command.add_option("--json", options->json,
                     "The results before, at the best and at the end, to a file; - for standard "
                     "output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
