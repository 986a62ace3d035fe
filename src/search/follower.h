#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "diml/searcher.h"

namespace diml {

// A thread that takes the changes of a store into a searcher as soon as it hears of them.
class Follower {
 public:
  // searcher: outlives it.
  Follower(const Searcher& searcher, std::unique_ptr<ChangeListener> listener);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

 private:
  void follow();

  const Searcher& searcher_;
  std::unique_ptr<ChangeListener> listener_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace diml
