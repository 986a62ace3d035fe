#include "workers.h"

#include <algorithm>

#include "diml/threads.h"

namespace diml::server {

Workers::Workers(int count, std::size_t most_waiting) : most_waiting_(most_waiting) {
  for (int i = 0; i < thread_count(count); ++i) threads_.emplace_back([this] { serve(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run_task(const Patience& patience, std::function<void()> work) {
  const auto task = std::make_shared<Task>();
  task->work = std::move(work);
  std::unique_lock lock(mutex_);
  if (line_.size() >= most_waiting_) {
    throw Refusal(kBusy, "the server has too much to do: try again in a moment");
  }
  line_.push_back(task);
  arrived_.notify_one();
  const Waited waited =
      wait_with(patience, task->done, lock, [&] { return task->state != Task::State::waiting; });
  if (waited != Waited::ready) {
    line_.erase(std::find(line_.begin(), line_.end(), task));
    if (waited == Waited::gone) throw Refusal(kGone, "the client went away");
    throw Refusal(kBusy, "the server did not come to it in time: try again in a moment");
  }
  // What has begun is short, and refers to what the caller holds.
  task->done.wait(lock, [&] { return task->state == Task::State::done; });
  if (task->failure) std::rethrow_exception(task->failure);
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [&] { return closed_ || !line_.empty(); });
    if (line_.empty()) return;
    const std::shared_ptr<Task> task = std::move(line_.front());
    line_.pop_front();
    task->state = Task::State::running;
    ++running_;
    lock.unlock();
    try {
      task->work();
    } catch (...) {
      task->failure = std::current_exception();
    }
    lock.lock();
    --running_;
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
  return running_;
}

}  // namespace diml::server
