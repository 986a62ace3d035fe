#pragma once

#include <cstddef>
#include <functional>

namespace diml {

// Called between blocks of long work, always from the thread that started it.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

// The number of threads that `threads = 0` stands for: DIML_THREADS, else OMP_NUM_THREADS, else all
// cores.
int default_threads();

// `wanted` where that is above 0, else default_threads().
int thread_count(int wanted);

// While it lives, libraries that run on OpenMP from this thread (oneDNN, LibTorch) use this many
// threads (0: default_threads()).
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

// Runs body(begin, end) over [0, count) in chunks of at most `grain`, on `threads` threads (0:
// default_threads()). The first exception that a chunk throws is rethrown here after all chunks
// have ended.
void parallel_for(std::size_t count, std::size_t grain, int threads,
                  const std::function<void(std::size_t begin, std::size_t end)>& body);

}  // namespace diml
