#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace diml::server {

using Clock = std::chrono::steady_clock;

inline Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long a request waits for others: until a moment, and as long as its client is there.
struct Patience {
  Clock::time_point deadline{};
  std::function<bool()> client_is_gone{};  // empty: nobody can tell
};

enum class Waited { ready, late, gone };

// Waits until ready() holds. changed: notified whenever that may be so. The client is looked for
// now and then: a socket does not notify a condition variable.
template <class Ready>
Waited wait_with(const Patience& patience, std::condition_variable& changed,
                 std::unique_lock<std::mutex>& lock, Ready ready) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
  while (true) {
    const Clock::time_point until = std::min(patience.deadline, Clock::now() + kBetweenLooks);
    if (changed.wait_until(lock, until, ready)) return Waited::ready;
    if (Clock::now() >= patience.deadline) return Waited::late;
    if (patience.client_is_gone && patience.client_is_gone()) return Waited::gone;
  }
}

}  // namespace diml::server
