#include "connection_pool.h"

#include <utility>

namespace diml::server {
namespace {

thread_local bool refuses = false;

}  // namespace

bool ConnectionPool::is_refusing() { return refuses; }

ConnectionPool::ConnectionPool(int connections) : most_(static_cast<std::size_t>(connections)) {
  refuser_ = std::thread([this] { work(to_refuse_, true); });
}

void ConnectionPool::enqueue(std::function<void()> serve) {
  const std::lock_guard lock(mutex_);
  if (busy_ < most_) {
    // Threads are begun when they are first needed.
    if (busy_ == threads_.size()) {
      threads_.emplace_back([this] { work(to_serve_, false); });
    }
    ++busy_;
    to_serve_.tasks.push_back(std::move(serve));
    to_serve_.arrived.notify_one();
    return;
  }
  to_refuse_.tasks.push_back(std::move(serve));
  to_refuse_.arrived.notify_one();
}

void ConnectionPool::work(Line& line, bool refusing) {
  refuses = refusing;
  std::unique_lock lock(mutex_);
  while (true) {
    line.arrived.wait(lock, [&] { return closed_ || !line.tasks.empty(); });
    if (line.tasks.empty()) return;
    const std::function<void()> task = std::move(line.tasks.front());
    line.tasks.pop_front();
    lock.unlock();
    task();
    lock.lock();
    if (!refusing) --busy_;
  }
}

void ConnectionPool::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    to_serve_.arrived.notify_all();
    to_refuse_.arrived.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  refuser_.join();
}

}  // namespace diml::server
