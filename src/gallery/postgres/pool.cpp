#include "pool.h"

#include <algorithm>

namespace diml::postgres {
namespace {

using Seconds = std::chrono::duration<double>;

// The longest is what a server that is back waits for its clients, at most.
constexpr Seconds kFirstPause{0.05};
constexpr Seconds kLongestPause{1.0};

// PostgreSQL's own bound for all clients together is 100 unless its administrator says otherwise.
constexpr std::size_t kMostConnections = 16;
constexpr std::chrono::seconds kLongestWait{30};

}  // namespace

Seconds BackOff::next() {
  pause_ = std::clamp<Seconds>(2 * pause_, kFirstPause, kLongestPause);
  return pause_ * std::uniform_real_distribution<double>(0.5, 1.5)(random_);
}

Pool::Pool(Address address) : address_(std::move(address)) {}

Pool::Lease::Lease(std::shared_ptr<Pool> pool, std::unique_ptr<Connection> connection, bool is_new)
    : pool_(std::move(pool)), connection_(std::move(connection)), is_new_(is_new) {}

Pool::Lease::~Lease() {
  if (pool_) pool_->give_back(std::move(connection_));
}

Pool::Lease Pool::take() {
  std::unique_ptr<Connection> kept;
  {
    std::unique_lock lock(mutex_);
    if (!returned_.wait_for(lock, kLongestWait, [&] { return in_use_ < kMostConnections; })) {
      throw Error(ErrorKind::out_of_resources,
                  address_.shown + ": all " + std::to_string(kMostConnections) +
                      " connections of this program are in use: try again in a moment");
    }
    while (!idle_.empty() && !kept) {
      kept = std::move(idle_.back());
      idle_.pop_back();
      if (kept->is_lost()) kept.reset();
    }
    if (!kept && failure_) {
      if (Clock::now() < next_try_) throw Error(*failure_);
      next_try_ = Clock::time_point::max();  // this call alone, until it knows more
    }
    ++in_use_;
  }
  if (kept) return {shared_from_this(), std::move(kept), false};
  return {shared_from_this(), connected(), true};
}

std::unique_ptr<Connection> Pool::connected() {
  try {
    auto connection = std::make_unique<Connection>(address_);
    const std::lock_guard lock(mutex_);
    failure_.reset();
    back_off_.reset();
    return connection;
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    // Calls that failed together count once.
    if (!failure_ || next_try_ == Clock::time_point::max()) {
      next_try_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(back_off_.next());
    }
    failure_ = error;
    --in_use_;
    returned_.notify_one();
    throw;
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      next_try_ = Clock::now();
    }
    give_back(nullptr);
    throw;
  }
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  const bool is_good = connection && !connection->is_lost() && connection->is_idle();
  const std::lock_guard lock(mutex_);
  --in_use_;
  if (is_good) idle_.push_back(std::move(connection));
  returned_.notify_one();
}

void Pool::forget_idle() {
  std::vector<std::unique_ptr<Connection>> ended;  // outside the lock
  const std::lock_guard lock(mutex_);
  ended.swap(idle_);
}

}  // namespace diml::postgres
