#include "connection_pool.h"

#include <exception>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace diml::server {
namespace {

// Who comes on top of these while they are being refused is cut off without a word.
constexpr std::size_t kMostToRefuse = 64;

}  // namespace

ConnectionPool::ConnectionPool(int connections, Handler serve, Handler refuse)
    : most_(static_cast<std::size_t>(connections)) {
  to_serve_.handle = std::move(serve);
  to_refuse_.handle = std::move(refuse);
  refuser_ = std::thread([this] { work(to_refuse_); });
}

ConnectionPool::~ConnectionPool() { shutdown(); }

// Threads are begun when they are first needed; the system may have none left.
bool ConnectionPool::has_thread() {
  if (busy_ == most_) return false;
  if (busy_ < threads_.size()) return true;
  try {
    threads_.emplace_back([this] { work(to_serve_); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void ConnectionPool::enqueue(int socket) {
  const std::lock_guard lock(mutex_);
  if (has_thread()) {
    ++busy_;
    to_serve_.sockets.push_back(socket);
    to_serve_.arrived.notify_one();
  } else if (to_refuse_.sockets.size() < kMostToRefuse) {
    to_refuse_.sockets.push_back(socket);
    to_refuse_.arrived.notify_one();
  } else {
    ::close(socket);
  }
}

void ConnectionPool::work(Line& line) {
  std::unique_lock lock(mutex_);
  while (true) {
    line.arrived.wait(lock, [&] { return closed_ || !line.sockets.empty(); });
    if (line.sockets.empty()) return;
    const int socket = line.sockets.front();
    line.sockets.pop_front();
    lock.unlock();
    try {
      line.handle(socket);
    } catch (const std::exception&) {
      // Out of memory: the next one may have more luck.
    }
    lock.lock();
    if (&line == &to_serve_) --busy_;
  }
}

void ConnectionPool::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    to_serve_.arrived.notify_all();
    to_refuse_.arrived.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  if (refuser_.joinable()) refuser_.join();
}

}  // namespace diml::server
