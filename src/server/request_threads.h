#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fair_line.h"
#include "visit.h"

namespace diml::server {

// The threads that answer requests, one request each. They wait for workers and for the network,
// never for clients. A client may use at most twice as many threads as are free, so that some are
// left for other clients: two thirds of all where it is the only one.
class RequestThreads {
 public:
  using Answer = std::function<void(std::unique_ptr<Visit> visit)>;

  // answer: does not throw.
  RequestThreads(int most, Answer answer);
  ~RequestThreads();
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  void enqueue(Lane lane, std::unique_ptr<Visit> visit);
  // Returns when all enqueued requests are answered.
  void shutdown();

 private:
  struct Line {
    FairLine<std::unique_ptr<Visit>> visits;
    std::condition_variable arrived;
    std::map<std::string, std::size_t> running;  // by client
    std::size_t busy = 0;
    std::size_t most = 0;
    std::vector<std::thread> threads;
  };
  Line& line_of(Lane lane) { return lines_[static_cast<std::size_t>(lane)]; }
  void work(Line& line);
  std::unique_ptr<Visit> next_visit(Line& line);
  void start_thread(Line& line);

  Answer answer_;
  std::mutex mutex_;
  std::array<Line, 2> lines_;
  bool closed_ = false;
};

}  // namespace diml::server
