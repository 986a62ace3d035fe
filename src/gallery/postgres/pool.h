#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "connection.h"

namespace diml::postgres {

// A pause that doubles from one failure to the next, and that differs between those who wait for
// the same server.
class BackOff {
 public:
  std::chrono::duration<double> next();
  void reset() { pause_ = {}; }

 private:
  std::chrono::duration<double> pause_{};
  std::minstd_rand random_{std::random_device{}()};
};

// The connections of a store: made when they are needed, kept for the next call, and bounded. While
// the server cannot be reached, one call at a time tries again after a pause; the others fail at
// once, with the same error.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  explicit Pool(Address address);

  // A connection outside a transaction that belongs to its holder, and returns to the pool.
  class Lease {
   public:
    Lease(std::shared_ptr<Pool> pool, std::unique_ptr<Connection> connection, bool is_new);
    ~Lease();
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }
    // Whether it was made for this lease: a kept one may have been lost without a word.
    bool is_new() const { return is_new_; }

   private:
    std::shared_ptr<Pool> pool_;
    std::unique_ptr<Connection> connection_;
    bool is_new_;
  };

  // Waits where all connections are in use; throws out_of_resources after a while.
  Lease take();
  // Ends the connections that nobody uses: one of them was found lost.
  void forget_idle();

  const Address& address() const { return address_; }

 private:
  using Clock = std::chrono::steady_clock;
  void give_back(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connected();

  const Address address_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t in_use_ = 0;
  std::optional<Error> failure_;  // the last call that made a connection failed
  Clock::time_point next_try_;
  BackOff back_off_;
};

// Calls `work` with a connection. Where a kept connection turns out to be lost, calls it once more
// with a new one: for work that changes nothing.
template <class Work>
auto with_connection(const std::shared_ptr<Pool>& pool, Work&& work) {
  {
    Pool::Lease lease = pool->take();
    if (lease.is_new()) return work(*lease);
    try {
      return work(*lease);
    } catch (const Error&) {
      if (!lease->is_lost()) throw;
    }
  }
  pool->forget_idle();
  Pool::Lease lease = pool->take();
  return work(*lease);
}

}  // namespace diml::postgres
