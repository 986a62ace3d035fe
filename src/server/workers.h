#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "client_use.h"
#include "fair_line.h"
#include "patience.h"
#include "refusal.h"

namespace diml::server {

// The few threads that compute. Tasks wait in a queue of bounded length; a task that would wait too
// long is refused. The next task is one of the client that has used the least time recently. One
// more thread starts the tasks of such a client while long tasks of others occupy all threads; it
// sleeps while there is only one client. Separate threads for connections also keep the number of
// OpenMP threads small: OpenMP makes a pool for every thread that ever computes.
class Workers {
 public:
  // computing_threads: of each worker's own team. Fewer workers than `count` where the system does
  // not start more; throws where it starts none.
  Workers(int count, std::size_t most_waiting, int computing_threads = 1);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Runs a task on one of them; returns or throws what the task does. Refusal kBusy if the queue is
  // full or the task has not started by the deadline; kGone if the client disconnects before it
  // starts.
  template <class Work>
  auto run(const Patience& patience, Work work) -> decltype(work()) {
    std::optional<decltype(work())> result;
    run_task(patience, [&] { result.emplace(work()); });
    return std::move(*result);
  }

  std::size_t waiting() const;
  std::size_t running() const;

 private:
  enum class Kind { common, spare };
  struct Task {
    std::string client;
    Clock::time_point begun;
    std::function<void()> work;
    std::exception_ptr failure;
    enum class State { waiting, running, done } state = State::waiting;
    std::condition_variable done;
  };
  void run_task(const Patience& patience, std::function<void()> work);
  void serve(Kind kind, int computing_threads);
  std::shared_ptr<Task> next_task(Kind kind, std::unique_lock<std::mutex>& lock);
  // With the lock: the seconds that a client has used recently, with those of its running tasks.
  double used_by(const std::string& client, Clock::time_point now) const;
  std::optional<std::shared_ptr<Task>> task_for_spare();

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable arrived_for_spare_;
  FairLine<std::shared_ptr<Task>> line_;
  std::vector<std::shared_ptr<Task>> running_;
  ClientUse use_;
  std::size_t most_waiting_;
  std::size_t common_ = 0;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace diml::server
