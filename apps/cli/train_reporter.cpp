#include "train_reporter.h"

#include <cstdio>

#include <unistd.h>

#include "interrupt.h"

namespace diml::cli {

TrainReporter::TrainReporter() : terminal_(isatty(STDERR_FILENO) != 0) {}

void TrainReporter::connect(TrainHooks& hooks) {
  hooks.on_step = [this](const StepReport& report) { step(report); };
  hooks.on_evaluate = [this](std::size_t done, std::size_t total) { evaluating(done, total); };
  hooks.on_epoch = [this](const EpochReport& report) { epoch(report); };
  hooks.stop = [] { return Interrupt::asked(); };
}

void TrainReporter::step(const StepReport& report) {
  if (!terminal_) return;
  std::fprintf(stderr, "\repoch %zu/%zu, step %zu/%zu, loss %.4f, %.0f images/s \033[K",
               report.epoch, report.epochs, report.step, report.steps, report.loss,
               report.images_per_second);
  std::fflush(stderr);
}

void TrainReporter::evaluating(std::size_t done, std::size_t total) {
  if (!terminal_) return;
  std::fprintf(stderr, "\revaluating %zu/%zu \033[K", done, total);
  std::fflush(stderr);
}

void TrainReporter::erase() {
  if (terminal_) std::fprintf(stderr, "\r\033[K");
}

void TrainReporter::epoch(const EpochReport& report) {
  erase();
  if (report.results.empty()) return;
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

}  // namespace diml::cli
