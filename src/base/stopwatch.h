#pragma once

#include <chrono>

namespace diml {

class Stopwatch {
 public:
  // Since it was made or started again.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // Starts again, and returns the seconds until then.
  double restart() {
    const double before = seconds();
    start_ = Clock::now();
    return before;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace diml
