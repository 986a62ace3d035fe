#include "listener.h"

#include <algorithm>
#include <thread>

namespace diml::postgres {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5000};

}  // namespace

PostgresListener::PostgresListener(Address address, std::int64_t gallery)
    : address_(std::move(address)), gallery_(std::to_string(gallery)) {}

bool PostgresListener::await(std::chrono::milliseconds longest) {
  using Clock = std::chrono::steady_clock;
  if (!connection_ && Clock::now() < next_try_) {
    std::this_thread::sleep_for(longest);
    return false;
  }
  try {
    if (connection_) return connection_->await_notification(gallery_, longest);
    auto connection = std::make_unique<Connection>(address_);
    connection->ask("LISTEN diml");  // a standby refuses that
    connection_ = std::move(connection);
    pause_ = {};
    return true;  // what changed before it listened
  } catch (const Error&) {
    connection_.reset();
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    next_try_ = Clock::now() + pause_;
    return false;
  }
}

}  // namespace diml::postgres
