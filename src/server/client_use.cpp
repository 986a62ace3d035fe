#include "client_use.h"

#include <cmath>
#include <iterator>

namespace diml::server {
namespace {

constexpr double kMemory = 10.0;  // seconds
// So many clients are remembered before those who have used next to nothing are forgotten.
constexpr std::size_t kMany = 1024;
constexpr double kNothing = 0.001;

}  // namespace

double ClientUse::of(const std::string& client, Clock::time_point now) const {
  const auto found = used_.find(client);
  if (found == used_.end()) return 0.0;
  const double age = std::chrono::duration<double>(now - found->second.when).count();
  return found->second.seconds * std::exp(-age / kMemory);
}

void ClientUse::add(const std::string& client, double seconds, Clock::time_point now) {
  const double before = of(client, now);
  if (used_.size() >= kMany) forget_old(now);
  used_[client] = {before + seconds, now};
}

// Whoever is left after this has used something within minutes, so it is rarely repeated.
void ClientUse::forget_old(Clock::time_point now) {
  double least = kNothing;
  while (used_.size() >= kMany) {
    for (auto one = used_.begin(); one != used_.end();) {
      one = of(one->first, now) < least ? used_.erase(one) : std::next(one);
    }
    least *= 4;
  }
}

}  // namespace diml::server
