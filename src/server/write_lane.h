#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "patience.h"

namespace diml::server {

// The one thread that changes the gallery. Another process may hold LMDB's lock without limit, and
// a thread that waits for this lock cannot be interrupted. So workers do not wait for it: changes
// wait in this queue, which is short, for a limited time.
class WriteLane {
 public:
  // turn: returns when no other process writes; it may never return.
  WriteLane(std::function<void()> turn, std::size_t most_waiting, double seconds);
  // Waits for a change that is under way, for a moment; a thread that waits for another process is
  // left behind at once.
  ~WriteLane();
  WriteLane(const WriteLane&) = delete;
  WriteLane& operator=(const WriteLane&) = delete;

  // Returns or throws what the work does. The work owns all that it uses: it may end after this
  // call does. Refusal kBusy: its turn did not come in time and nothing was changed; or it
  // began and did not end in time, which the message says.
  template <class Work>
  auto run(const Patience& patience, Work work) -> decltype(work()) {
    const auto result = std::make_shared<std::optional<decltype(work())>>();
    run_task(patience, [result, work = std::move(work)]() mutable { result->emplace(work()); });
    return std::move(**result);
  }

  // Why the last change failed, for people: "" if it did not, or if the request was wrong.
  std::string fault() const;

 private:
  struct Task {
    std::function<void()> work;
    std::exception_ptr failure;
    enum class State { waiting, turn, working, done } state = State::waiting;
    bool abandoned = false;
  };
  struct State {
    mutable std::mutex mutex;
    std::condition_variable arrived;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Task>> line;
    std::function<void()> turn;
    std::size_t most_waiting = 0;
    std::string fault;
    bool closed = false;
    bool ended = false;
    bool waits_for_turn = false;  // perhaps for ever
  };
  void run_task(const Patience& patience, std::function<void()> work);
  static std::string carry_out(State& state, Task& task);
  static void serve(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  double seconds_;
  std::thread thread_;
};

}  // namespace diml::server
