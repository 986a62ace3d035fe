#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

namespace diml::server {

using Clock = std::chrono::steady_clock;

inline Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long a request waits and is worked on: until a deadline, while its client is connected, and
// while the server has time. The functions are called from any thread; empty: unknown.
struct Patience {
  Clock::time_point deadline{};
  std::function<bool()> client_is_gone{};
  std::function<bool()> server_ends{};  // its grace for running requests is over
  std::string client{};                 // whose turn it takes: an address

  bool is_over() const {
    return Clock::now() >= deadline || (server_ends && server_ends()) ||
           (client_is_gone && client_is_gone());
  }
};

enum class Waited { ready, late, gone };

// Waits until ready() holds. changed: notified whenever it may hold. The client's socket is polled,
// because a socket cannot notify a condition variable.
template <class Ready>
Waited wait_with(const Patience& patience, std::condition_variable& changed,
                 std::unique_lock<std::mutex>& lock, Ready ready) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
  while (true) {
    const Clock::time_point until = std::min(patience.deadline, Clock::now() + kBetweenLooks);
    if (changed.wait_until(lock, until, ready)) return Waited::ready;
    if (Clock::now() >= patience.deadline) return Waited::late;
    if (patience.server_ends && patience.server_ends()) return Waited::late;
    if (patience.client_is_gone && patience.client_is_gone()) return Waited::gone;
  }
}

}  // namespace diml::server
