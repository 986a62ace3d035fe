#include "progress_bar.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include <unistd.h>

#include "base/shown_text.h"
#include "messages.h"

namespace diml::cli {

namespace {

class Bar {
 public:
  explicit Bar(const std::string& label) : label_(shown_message(label)) {}
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  ~Bar() { erase(); }  // also when an error ends the work: the message gets an empty line

  void show(std::size_t done, std::size_t total) {
    constexpr std::size_t kWidth = 30;
    const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    std::string bar(static_cast<std::size_t>(share * kWidth), '#');
    bar.resize(kWidth, '.');
    std::fprintf(stderr, "\r%s [%s] %3.0f%% %zu/%zu, %.0f/s, %.0f s left \033[K", label_.c_str(),
                 bar.c_str(), 100.0 * share, done, total,
                 static_cast<double>(done) / (elapsed + 1e-9),
                 elapsed * (1.0 - share) / (share + 1e-9));
    std::fflush(stderr);
    shown_ = true;
    if (done >= total) erase();
  }

  void erase() {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
    shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  Clock::time_point start_ = Clock::now();
  bool shown_ = false;
};

}  // namespace

Progress progress_bar(const std::string& label) { return erasable_bar(label).progress; }

ErasableBar erasable_bar(const std::string& label) {
  if (!isatty(STDERR_FILENO) || !is_shown(LogLevel::info)) return {};
  const auto bar = std::make_shared<Bar>(label);
  return {[bar](std::size_t done, std::size_t total) { bar->show(done, total); },
          [bar] { bar->erase(); }};
}

}  // namespace diml::cli
