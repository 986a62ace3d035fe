#include "write_lane.h"

#include <algorithm>

#include "diml/error.h"
#include "refusal.h"

namespace diml::server {
namespace {

constexpr auto kFarewell = std::chrono::milliseconds(500);
constexpr const char* kBusyWriter = "another process is writing to the gallery";
constexpr const char* kSeeLog = "the last change failed, and the log says why";

// The library's word for a disk that takes no more.
bool is_full(const Error& error) { return std::string_view(error.parameter()) == "room"; }

// The library's words for a database that went away, perhaps while it was asked to commit.
bool is_of_lost_database(const Error& error) {
  const std::string_view parameter = error.parameter();
  return parameter == "database" || parameter == "outcome";
}

constexpr const char* kOutcomeUnknown =
    "the database went away during the change, which may have been made: check the gallery before "
    "you repeat it";

// 507: no room for more, whatever the client does. 503: something else that is not the client's
// fault, such as a disk that fails or is read-only. The answer has no path of the server; the log
// has the whole message.
Refusal not_written(const Error& error, bool was_begun) {
  if (is_full(error)) {
    return {
        507, "there is no room for changes of the gallery: nothing was changed", {}, error.what()};
  }
  if (was_begun && is_of_lost_database(error)) return {kBusy, kOutcomeUnknown, {}, error.what()};
  return {
      kBusy,
      "the gallery cannot be changed at present: nothing was changed, and the server's log says "
      "why",
      {},
      error.what()};
}

}  // namespace

WriteLane::WriteLane(std::function<void()> turn, std::size_t most_waiting, double seconds)
    : state_(std::make_shared<State>()), seconds_(seconds) {
  state_->turn = std::move(turn);
  state_->most_waiting = most_waiting;
  thread_ = std::thread([state = state_] { serve(state); });
}

WriteLane::~WriteLane() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  state_->arrived.notify_all();
  state_->changed.wait_for(lock, kFarewell,
                           [&] { return state_->ended || state_->waits_for_turn; });
  const bool left_behind = !state_->ended;
  lock.unlock();
  if (left_behind) {
    thread_.detach();  // it has its own reference to all that it uses
  } else {
    thread_.join();
  }
}

void WriteLane::run_task(const Patience& patience, std::function<void()> work) {
  const auto task = std::make_shared<Task>();
  task->work = std::move(work);
  // Made before the change waits: afterwards nothing may throw.
  const Patience shorter{std::min(patience.deadline, after(seconds_)), patience.client_is_gone,
                         patience.server_ends};
  std::unique_lock lock(state_->mutex);
  if (state_->line.size() >= state_->most_waiting) {
    throw Refusal(kBusy, "too many changes wait for the gallery: try again in a moment");
  }
  state_->line.push_back(task);
  state_->arrived.notify_one();
  const auto is_done = [&] { return task->state == Task::State::done; };
  Waited waited = wait_with(shorter, state_->changed, lock, is_done);
  // Who has left before its turn changes nothing; what is under way is waited for.
  if (waited == Waited::gone && task->state == Task::State::working) {
    waited = wait_with({shorter.deadline, {}, shorter.server_ends}, state_->changed, lock, is_done);
  }
  if (waited == Waited::ready) {
    if (task->failure) std::rethrow_exception(task->failure);
    return;
  }
  task->abandoned = true;
  std::erase(state_->line, task);
  if (waited == Waited::gone) throw Refusal(kGone, "the client disconnected");
  if (task->state == Task::State::working) {
    throw Refusal(
        kBusy,
        "the change takes long and may still be made: check the gallery before you repeat it");
  }
  if (patience.server_ends && patience.server_ends()) {
    throw Refusal(kBusy, "the server is about to stop: nothing was changed");
  }
  state_->fault = kBusyWriter;
  throw Refusal(kBusy,
                std::string(kBusyWriter) + ": nothing was changed, try again when it has ended");
}

// Without the lock. Returns what readiness says of it.
std::string WriteLane::carry_out(State& state, Task& task) {
  bool was_begun = false;
  try {
    state.turn();
    {
      const std::lock_guard lock(state.mutex);
      state.waits_for_turn = false;
      if (task.abandoned) return "";
      task.state = Task::State::working;
    }
    was_begun = true;
    task.work();
  } catch (const Error& error) {
    task.failure = std::current_exception();
    // Its folder was replaced, and it has been opened again.
    if (std::string_view(error.parameter()) == "reopen") return "";
    if (error.kind() == ErrorKind::out_of_resources) {
      task.failure = std::make_exception_ptr(not_written(error, was_begun));
      return is_full(error) ? "there is no room on the disk" : kSeeLog;
    }
    if (error.kind() == ErrorKind::damaged || error.kind() == ErrorKind::internal) return kSeeLog;
  } catch (const Refusal&) {
    task.failure = std::current_exception();
  } catch (...) {
    task.failure = std::current_exception();
    return kSeeLog;
  }
  return "";
}

void WriteLane::serve(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->arrived.wait(lock, [&] { return state->closed || !state->line.empty(); });
    if (state->line.empty()) break;
    const std::shared_ptr<Task> task = std::move(state->line.front());
    state->line.pop_front();
    task->state = Task::State::turn;
    state->waits_for_turn = true;
    lock.unlock();
    std::string fault;
    try {
      fault = carry_out(*state, *task);
    } catch (...) {
      task->failure = std::current_exception();  // no memory to say more
    }
    lock.lock();
    state->waits_for_turn = false;
    state->fault = std::move(fault);
    task->state = Task::State::done;
    state->changed.notify_all();
  }
  state->ended = true;
  state->changed.notify_all();
}

std::string WriteLane::fault() const {
  const std::lock_guard lock(state_->mutex);
  return state_->fault;
}

}  // namespace diml::server
