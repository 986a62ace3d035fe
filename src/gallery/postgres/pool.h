#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "connection.h"

namespace diml::postgres {

// The connections of a store: made when they are needed, kept for the next call, and bounded.
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
  void give_back(std::unique_ptr<Connection> connection);

  const Address address_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t in_use_ = 0;
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
