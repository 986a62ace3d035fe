#include "progress_bar.h"

#include <chrono>
#include <cstdio>

#include <unistd.h>

namespace diml::cli {

Progress progress_bar(std::string label) {
  if (!isatty(STDERR_FILENO)) return {};
  using Clock = std::chrono::steady_clock;
  return [label = std::move(label), start = Clock::now()](std::size_t done, std::size_t total) {
    constexpr int kWidth = 30;
    const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    const int filled = static_cast<int>(share * kWidth);
    std::string bar(static_cast<std::size_t>(filled), '#');
    bar.resize(kWidth, '.');
    std::fprintf(stderr, "\r%s [%s] %3.0f%% %zu/%zu, %.0f/s, %.0f s left \033[K", label.c_str(),
                 bar.c_str(), 100.0 * share, done, total,
                 static_cast<double>(done) / (elapsed + 1e-9),
                 elapsed * (1.0 - share) / (share + 1e-9));
    if (done >= total) std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
  };
}

}  // namespace diml::cli
