#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace diml::server {

// A thread for each open connection, up to a number; one more tells the others that there are too
// many. Threads that wait for a client cost next to nothing: what is computed is bounded by
// Workers.
class ConnectionPool {
 public:
  using Handler = std::function<void(int socket)>;  // which it closes

  ConnectionPool(int connections, Handler serve, Handler refuse);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  void enqueue(int socket);
  // Returns when all that were enqueued are served.
  void shutdown();

 private:
  struct Line {
    std::deque<int> sockets;
    std::condition_variable arrived;
    Handler handle;
  };
  bool has_thread();
  void work(Line& line);

  std::mutex mutex_;
  Line to_serve_;
  Line to_refuse_;
  std::size_t most_;
  std::size_t busy_ = 0;  // with a socket, or promised one
  bool closed_ = false;
  std::vector<std::thread> threads_;
  std::thread refuser_;
};

}  // namespace diml::server
