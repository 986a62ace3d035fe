#include "diml/threads.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>

#include <omp.h>

namespace diml {

int default_threads() {
  if (const char* wanted = std::getenv("DIML_THREADS")) {
    const int threads = std::atoi(wanted);
    if (threads > 0) return threads;
  }
  return std::max(1, omp_get_max_threads());
}

int thread_count(int wanted) { return wanted > 0 ? wanted : default_threads(); }

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(thread_count(threads));
}

ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

void parallel_for(std::size_t count, std::size_t grain, int threads,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  grain = std::clamp<std::size_t>(grain, 1, count);
  const std::size_t chunks = (count + grain - 1) / grain;
  const std::size_t wanted = static_cast<std::size_t>(thread_count(threads));
  // OpenMP ends the process when it cannot start a thread: no more than could ever help.
  const std::size_t useful = 4 * static_cast<std::size_t>(omp_get_num_procs()) + 16;
  const int workers = static_cast<int>(std::min({wanted, chunks, useful}));
  if (workers == 1) {
    for (std::size_t begin = 0; begin < count; begin += grain) {
      body(begin, std::min(count, begin + grain));
    }
    return;
  }

  // An exception must not leave an OpenMP region: keep the first, skip what is left, rethrow
  // outside.
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
#pragma omp parallel for schedule(dynamic) num_threads(workers)
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    if (failed.load(std::memory_order_relaxed)) continue;
    try {
      const std::size_t begin = chunk * grain;
      body(begin, std::min(count, begin + grain));
    } catch (...) {
#pragma omp critical(diml_parallel_for)
      {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace diml
