#include "train_reporter.h"

#include <cmath>
#include <cstdio>

#include <unistd.h>

#include "interrupt.h"
#include "messages.h"

namespace diml::cli {
namespace {

// "3 h 05 min", "12 min", "40 s".
std::string duration_text(double seconds) {
  const auto whole = std::llround(seconds);
  char text[64];
  if (whole >= 3600) {
    std::snprintf(text, sizeof(text), "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
  } else if (whole >= 60) {
    std::snprintf(text, sizeof(text), "%lld min", whole / 60);
  } else {
    std::snprintf(text, sizeof(text), "%lld s", whole);
  }
  return text;
}

// "4 classes (24 images)".
std::string classes_text(std::size_t classes, std::size_t images) {
  return std::to_string(classes) + (classes == 1 ? " class (" : " classes (") +
         std::to_string(images) + (images == 1 ? " image)" : " images)");
}

}  // namespace

TrainReporter::TrainReporter(bool lines)
    : terminal_(isatty(STDERR_FILENO) != 0 && is_shown(LogLevel::info)), lines_(lines) {}

void TrainReporter::connect(TrainHooks& hooks) {
  hooks.on_plan = [this](const TrainPlan& found) { plan(found); };
  hooks.on_step = [this](const StepReport& report) { step(report); };
  hooks.on_evaluate = [this](std::size_t done, std::size_t total) { evaluating(done, total); };
  hooks.on_epoch = [this](const EpochReport& report) { epoch(report); };
  hooks.on_note = [this](const std::string& text) { note(text); };
  hooks.cancelled = Interrupt::asked;
}

void TrainReporter::plan(const TrainPlan& found) {
  if (!found.chosen.empty()) {
    std::string settings;
    for (const auto& [name, value] : found.chosen) settings += " " + name + "=" + value;
    note(found.why_chosen + ", as with --set" + settings);
  }
  for (const std::string& line : found.left_out) note(line);
  if (!lines_) return;
  std::printf("training on %s; held out to evaluate: %s, the %s split%s\n",
              classes_text(found.classes, found.images).c_str(),
              classes_text(found.held_out_classes, found.held_out_images).c_str(),
              found.split.c_str(),
              found.among_training ? ", searched among the training images too" : "");
  std::fflush(stdout);
}

void TrainReporter::step(const StepReport& report) {
  if (!terminal_) return;
  std::fprintf(stderr, "\repoch %zu/%zu, step %zu/%zu, loss %.4f, %.0f images/s%s \033[K",
               report.epoch, report.epochs, report.step, report.steps, report.loss,
               report.images_per_second, left_after(report).c_str());
  std::fflush(stderr);
}

std::string TrainReporter::left_after(const StepReport& report) {
  const auto now = std::chrono::steady_clock::now();
  if (steps_seen_++ == 0) {
    first_step_ = now;
    return "";
  }
  const double for_one = std::chrono::duration<double>(now - first_step_).count() /
                         static_cast<double>(steps_seen_ - 1);
  const std::size_t left =
      (report.epochs - report.epoch) * report.steps + report.steps - report.step;
  return ", " + duration_text(for_one * static_cast<double>(left)) + " left";
}

void TrainReporter::evaluating(std::size_t done, std::size_t total) {
  if (!terminal_) return;
  std::fprintf(stderr, "\revaluating %zu/%zu \033[K", done, total);
  std::fflush(stderr);
}

void TrainReporter::erase() {
  if (terminal_) std::fprintf(stderr, "\r\033[K");
}

void TrainReporter::note(const std::string& text) {
  erase();
  say(LogLevel::warning, text);
}

void TrainReporter::epoch(const EpochReport& report) {
  erase();
  if (!lines_ || report.results.empty()) return;
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
  if (report.skipped && report.skipped->replaced_draws > 0) {
    std::printf("   %zu draws replaced", report.skipped->replaced_draws);
  }
  if (report.skipped && report.skipped->not_judged > 0) {
    std::printf("   %zu of %zu not evaluated", report.skipped->not_judged,
                report.skipped->judged + report.skipped->not_judged);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace diml::cli
