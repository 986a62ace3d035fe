#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <httplib.h>

namespace diml::server {

// A thread for each open connection, up to a number; one more tells the others that there are too
// many. Threads that wait for a client cost next to nothing: what is computed is bounded by
// Workers.
class ConnectionPool : public httplib::TaskQueue {
 public:
  explicit ConnectionPool(int connections);

  void enqueue(std::function<void()> serve) override;
  void shutdown() override;

  // Whether this thread is there to refuse, not to serve.
  static bool is_refusing();

 private:
  struct Line {
    std::deque<std::function<void()>> tasks;
    std::condition_variable arrived;
  };
  void work(Line& line, bool refusing);

  std::mutex mutex_;
  Line to_serve_;
  Line to_refuse_;
  std::size_t most_;
  std::size_t busy_ = 0;  // with a task, or promised one
  bool closed_ = false;
  std::vector<std::thread> threads_;
  std::thread refuser_;
};

}  // namespace diml::server
