#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "patience.h"
#include "refusal.h"

namespace diml::server {

// The few threads that compute. Work waits in a line of bounded length; who would have to wait for
// too long is sent away. Keeping them apart from the connections' threads also keeps the number of
// OpenMP's own threads small: it makes some for every thread that ever computes.
class Workers {
 public:
  Workers(int count, std::size_t most_waiting);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Runs it on one of them and returns what it returns, or throws what it throws. Refusal kBusy
  // where the line is full, or has not moved by the deadline; kGone where the client went away
  // before it began.
  template <class Work>
  auto run(const Patience& patience, Work work) -> decltype(work()) {
    std::optional<decltype(work())> result;
    run_task(patience, [&] { result.emplace(work()); });
    return std::move(*result);
  }

  std::size_t waiting() const;
  std::size_t running() const;

 private:
  struct Task {
    std::function<void()> work;
    std::exception_ptr failure;
    enum class State { waiting, running, done } state = State::waiting;
    std::condition_variable done;
  };
  void run_task(const Patience& patience, std::function<void()> work);
  void serve();

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<Task>> line_;
  std::size_t most_waiting_;
  std::size_t running_ = 0;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace diml::server
