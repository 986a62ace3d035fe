#include <cstdio>

#include <unistd.h>

#include "command.h"
#include "diml/error.h"
#include "diml/torch_plugin.h"
#include "interrupt.h"

namespace diml::cli {
namespace {

struct TrainCommand {
  TrainCall call;
  std::vector<std::string> overrides;  // name=value

  void run();
};

// One line that is written over, on a terminal; nothing elsewhere.
class StepLine {
 public:
  void show(const StepReport& report) {
    if (!terminal_) return;
    std::fprintf(stderr, "\repoch %zu/%zu, step %zu/%zu, loss %.4f, %.0f images/s \033[K",
                 report.epoch, report.epochs, report.step, report.steps, report.loss,
                 report.images_per_second);
    std::fflush(stderr);
  }
  void evaluating(std::size_t done, std::size_t total) {
    if (!terminal_) return;
    std::fprintf(stderr, "\revaluating %zu/%zu \033[K", done, total);
    std::fflush(stderr);
  }
  void erase() {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

void print(const EpochReport& report) {
  if (report.epoch == 0) {
    std::printf("%10s %9s", "untrained", "");
  } else {
    std::printf("epoch %4zu %9.4f", report.epoch, report.loss);
  }
  for (const RerankResult& result : report.results) {
    std::printf("   K=%-4zu P@1 %6.2f RP %6.2f MAP@R %6.2f", result.rerank,
                100.0 * result.metrics.p_at_1, 100.0 * result.metrics.r_precision,
                100.0 * result.metrics.map_at_r);
  }
  if (report.epoch > 0) std::printf("   %.1f s", report.seconds);
  if (report.is_best && report.epoch > 0) std::printf("   best");
  std::printf("\n");
  std::fflush(stdout);
}

void TrainCommand::run() {
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw Error("--set " + text + ": name=value is wanted, such as loss.margin=0.3");
    }
    call.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  StepLine line;
  const Interrupt interrupt;
  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) { line.show(report); };
  hooks.on_evaluate = [&](std::size_t done, std::size_t total) { line.evaluating(done, total); };
  hooks.on_epoch = [&](const EpochReport& report) {
    line.erase();
    print(report);
  };
  hooks.stop = [] { return Interrupt::asked(); };
  const TrainSummary summary = torch_plugin().train(call, hooks);
  line.erase();
  if (summary.stopped) {
    throw Error("stopped; 'diml train --resume --out " + call.out + "' goes on");
  }
  std::printf("best: epoch %zu, %s/best.safetensors\n", summary.best.epoch, call.out.c_str());
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
  setting("--select", "evaluate.select", "Which classes choose the best: test or val");
  setting("--seed", "seed", "Other seed, other run");
  setting("--device", "device", "cpu or cuda");
  setting("--threads", "threads", "Threads; 0 for all cores");
  command.add_option("--set", options->overrides, "Any setting: --set loss.margin=0.3");
  command.add_option("--out", call.out, "The run's folder")->required();
  command.add_flag("--resume", call.resume, "Go on from the folder's last checkpoint");
  return [options] { options->run(); };
}

}  // namespace diml::cli
