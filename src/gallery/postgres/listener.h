#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "connection.h"
#include "diml/grid_store.h"

namespace diml::postgres {

// Hears of the changes of a gallery, by LISTEN on a connection of its own: one that a pooler lends
// out from transaction to transaction hears nothing, and searches then find changes by themselves.
class PostgresListener final : public ChangeListener {
 public:
  PostgresListener(Address address, std::int64_t gallery);
  bool await(std::chrono::milliseconds longest) override;

 private:
  const Address address_;
  const std::string gallery_;  // its number, as notifications have it
  std::unique_ptr<Connection> connection_;
  std::chrono::steady_clock::time_point next_try_{};
  std::chrono::milliseconds pause_{};  // after a failure, and longer after the next
};

}  // namespace diml::postgres
