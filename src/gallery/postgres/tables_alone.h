#pragma once

#include <chrono>
#include <thread>

#include "connection.h"
#include "pool.h"

namespace diml::postgres {

// Calls `work` in a transaction that needs a table to itself, such as to drop a part of it, and
// commits. It waits for those who read the table, and whoever comes next waits behind it: a reader
// that needs a second connection would wait for itself, and no server sees that. So the
// transaction gives up its place after a moment, lets the others go on, and begins again.
template <class Work>
void with_tables_alone(Connection& connection, Work&& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point last_try = Clock::now() + std::chrono::minutes(5);
  for (BackOff pause;;) {
    try {
      Transaction transaction(connection, "BEGIN");
      connection.run("SET LOCAL lock_timeout = '500ms'");
      work();
      transaction.commit();
      return;
    } catch (const Error&) {
      if (!connection.waited_for_lock() || Clock::now() > last_try) throw;
    }
    std::this_thread::sleep_for(pause.next());
  }
}

}  // namespace diml::postgres
