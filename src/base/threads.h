#pragma once

#include <cstddef>
#include <functional>

#include "diml/progress.h"

namespace diml {

// In the child of a fork() of a process of several threads, the thread that forked works alone,
// whatever number is wanted: in all of the functions below.

// The number of threads that `threads = 0` stands for: DIML_THREADS, else OMP_NUM_THREADS, else all
// cores.
int default_threads();

// `wanted` where that is above 0, else default_threads().
int thread_count(int wanted);

// OpenMP ends the process where the system refuses to start a thread. So these are tried first: how
// many of `wanted` threads there can be now, the calling one among them, at least 1.
int startable_threads(int wanted);

// Starts the threads that parallel_for(..., threads, ...) of the calling thread uses, as many as
// the system gives: from then on it starts no more.
void start_team(int threads);

// While it exists, libraries that run on OpenMP from this thread (oneDNN, LibTorch) use this many
// threads (0: default_threads()), or as many as the system gives.
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
// default_threads()), or on fewer where the system gives no more. The first exception that a chunk
// throws is rethrown here after all chunks have ended. progress: asked at first, and before each
// chunk of the calling thread; where it is cancelled, the chunks that have not begun are left out,
// and an Error of out_of_resources says so.
void parallel_for(std::size_t count, std::size_t grain, int threads,
                  const std::function<void(std::size_t begin, std::size_t end)>& body,
                  const Progress& progress = {});

}  // namespace diml
