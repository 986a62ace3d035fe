#include "workers.h"

#include <algorithm>
#include <future>
#include <limits>
#include <memory>

#include "base/threads.h"
#include "diml/error.h"

namespace diml::server {

namespace {

constexpr double kNot = std::numeric_limits<double>::infinity();
// The interval at which running tasks are checked for being long.
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

// Before the first task: OpenMP ends the process where it cannot start a thread.
void start_own_team(int threads) {
  try {
    start_team(threads);
  } catch (const std::exception&) {
    // No memory for it at this moment.
  }
}

}  // namespace

Workers::Workers(int count, std::size_t most_waiting, int computing_threads)
    : most_waiting_(most_waiting), common_(static_cast<std::size_t>(thread_count(count))) {
  running_.reserve(common_ + 1);
  // One after the other, each with its team: what the system gives is then the same each time.
  const auto start = [&](Kind kind) {
    const auto has_team = std::make_shared<std::promise<void>>();
    std::future<void> team = has_team->get_future();
    threads_.emplace_back([this, kind, computing_threads, has_team] {
      start_own_team(computing_threads);
      has_team->set_value();
      serve(kind, computing_threads);
    });
    team.wait();
  };
  try {
    while (threads_.size() < common_) start(Kind::common);
    start(Kind::spare);
  } catch (const std::exception&) {
    if (threads_.empty()) {
      throw Error(ErrorKind::out_of_resources,
                  "the system cannot start a thread for the server: allow this user more threads");
    }
    const std::lock_guard lock(mutex_);
    common_ = std::min(common_, threads_.size());
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
  arrived_for_spare_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run_task(const Patience& patience, std::function<void()> work) {
  const auto task = std::make_shared<Task>();
  task->client = patience.client;
  task->work = std::move(work);
  std::unique_lock lock(mutex_);
  if (line_.size() >= most_waiting_) {
    throw Refusal(kBusy, "the server is overloaded: try again in a moment");
  }
  line_.push(task->client, task);
  arrived_.notify_one();
  if (running_.size() >= common_) arrived_for_spare_.notify_one();
  const Waited waited =
      wait_with(patience, task->done, lock, [&] { return task->state != Task::State::waiting; });
  if (waited != Waited::ready) {
    line_.remove_if(task->client, [&](const auto& one) { return one == task; });
    if (waited == Waited::gone) throw Refusal(kGone, "the client disconnected");
    throw Refusal(kBusy, "the request waited too long: try again in a moment");
  }
  // A started task is short, and it refers to objects of the caller: wait for it.
  task->done.wait(lock, [&] { return task->state == Task::State::done; });
  if (task->failure) std::rethrow_exception(task->failure);
}

double Workers::used_by(const std::string& client, Clock::time_point now) const {
  double seconds = use_.of(client, now);
  for (const auto& task : running_) {
    if (task->client != client) continue;
    seconds += std::chrono::duration<double>(now - task->begun).count();
  }
  return seconds;
}

// Of a client who runs nothing and has used less than half of what each client has used who runs
// something.
std::optional<std::shared_ptr<Workers::Task>> Workers::task_for_spare() {
  if (line_.empty() || running_.size() < common_) return std::nullopt;
  const Clock::time_point now = Clock::now();
  double least = kNot;
  for (const auto& task : running_) least = std::min(least, used_by(task->client, now));
  return line_.pop([&](const std::string& client) {
    const auto is_its = [&](const auto& task) { return task->client == client; };
    if (std::any_of(running_.begin(), running_.end(), is_its)) return kNot;
    const double used = used_by(client, now);
    return 2 * used < least ? used : kNot;
  });
}

// Null at the end.
std::shared_ptr<Workers::Task> Workers::next_task(Kind kind, std::unique_lock<std::mutex>& lock) {
  if (kind == Kind::common) {
    arrived_.wait(lock, [&] { return closed_ || !line_.empty(); });
    const Clock::time_point now = Clock::now();
    return line_.pop([&](const std::string& client) { return used_by(client, now); })
        .value_or(nullptr);
  }
  while (!closed_) {
    if (auto task = task_for_spare()) return *task;
    if (line_.empty() || running_.size() < common_) {
      arrived_for_spare_.wait(lock);
    } else {
      arrived_for_spare_.wait_for(lock, kBetweenLooks);
    }
  }
  return nullptr;
}

void Workers::serve(Kind kind, int computing_threads) {
  start_own_team(computing_threads);  // where there was no memory for it before
  std::unique_lock lock(mutex_);
  while (const std::shared_ptr<Task> task = next_task(kind, lock)) {
    task->state = Task::State::running;
    task->begun = Clock::now();
    running_.push_back(task);
    // Whoever has just waited for a common thread may now wait for the spare one.
    if (!line_.empty() && running_.size() >= common_) arrived_for_spare_.notify_one();
    lock.unlock();
    try {
      task->work();
    } catch (...) {
      task->failure = std::current_exception();
    }
    lock.lock();
    running_.erase(std::find(running_.begin(), running_.end(), task));
    try {
      use_.add(task->client, seconds_since(task->begun));
    } catch (const std::exception&) {
      // No memory to remember it.
    }
    task->state = Task::State::done;
    task->done.notify_all();
  }
}

std::size_t Workers::waiting() const {
  const std::lock_guard lock(mutex_);
  return line_.size();
}

std::size_t Workers::running() const {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

}  // namespace diml::server
