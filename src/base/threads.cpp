#include "base/threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml {
namespace {

// Threads of the team that OpenMP keeps for this thread. A smaller team than before would end the
// others, which the next call would have to start again.
thread_local int team_size = 1;

// fork() copies the calling thread alone. OpenMP does not notice: in the child, that thread waits
// for ever for a team that it had before. Whether it had one (this library, PyTorch and FAISS share
// OpenMP) is not known, so it works alone there, unless the process had no other thread at all.
// Threads that start in the child have teams of their own.
thread_local bool team_is_lost = false;
std::atomic<bool> has_other_threads{true};

// Teams grow one after the other: what one has tried, another could take before it is used.
std::mutex growing;

[[maybe_unused]] const int watches_forks = pthread_atfork(
    [] {
      growing.lock();
      struct stat tasks {};
      constexpr nlink_t kOne = 3;  // a folder has 2 links, and one for each folder in it
      has_other_threads = stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > kOne;
    },
    [] { growing.unlock(); },
    [] {
      growing.unlock();
      if (has_other_threads) team_is_lost = true;
    });

// Left to other threads of the process that start some at the same moment.
constexpr int kSpare = 2;

// A thread that was joined still counts for the system until it has gone.
void wait_until_gone(const std::vector<pid_t>& threads) {
  constexpr int kTurns = 10'000;
  for (const pid_t one : threads) {
    std::array<char, 48> place{};
    std::snprintf(place.data(), place.size(), "/proc/self/task/%d", static_cast<int>(one));
    for (int turn = 0; turn < kTurns && access(place.data(), F_OK) == 0; ++turn) sched_yield();
  }
}

// At most `wanted`, and they are there; a team that is there is not tried again.
int team_of(int wanted) {
  if (team_is_lost) return 1;
  if (wanted <= team_size) return team_size = wanted;
  const std::lock_guard lock(growing);
  team_size = std::max(team_size, startable_threads(wanted));
  std::atomic<int> here{0};
#pragma omp parallel num_threads(team_size)
  ++here;
  return team_size;
}

}  // namespace

int default_threads() {
  if (const char* wanted = std::getenv("DIML_THREADS")) {
    const int threads = std::atoi(wanted);
    if (threads > 0) return threads;
  }
  return std::max(1, omp_get_max_threads());
}

int thread_count(int wanted) { return wanted > 0 ? wanted : default_threads(); }

int startable_threads(int wanted) {
  std::vector<std::thread> started;
  std::vector<pid_t> names;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  int more = 0;
  try {
    const auto most = static_cast<std::size_t>(wanted + kSpare);
    started.reserve(most);
    names.resize(most);
    for (; more < wanted - 1 + kSpare; ++more) {
      started.emplace_back([ended, &name = names[static_cast<std::size_t>(more)]] {
        name = gettid();
        ended.wait();
      });
    }
  } catch (const std::exception&) {  // no thread, or no memory for it
  }
  end.set_value();
  for (std::thread& thread : started) thread.join();
  names.resize(started.size());
  wait_until_gone(names);
  return std::clamp(1 + more - kSpare, 1, wanted);
}

void start_team(int threads) { (void)team_of(thread_count(threads)); }

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(team_of(thread_count(threads)));
}

ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

void parallel_for(std::size_t count, std::size_t grain, int threads,
                  const std::function<void(std::size_t, std::size_t)>& body,
                  const Progress& progress) {
  if (count == 0) return;
  // The calling thread may get no chunk below: what was cancelled before does not begin.
  progress.stop_if_cancelled();
  grain = std::clamp<std::size_t>(grain, 1, count);
  const std::size_t chunks = (count + grain - 1) / grain;
  const std::size_t wanted = static_cast<std::size_t>(thread_count(threads));
  const std::size_t useful = 4 * static_cast<std::size_t>(omp_get_num_procs()) + 16;
  const int workers = static_cast<int>(std::min({wanted, chunks, useful}));
  // Not fewer than there are: see team_size.
  const int most = static_cast<int>(std::min(wanted, useful));
  const int team = workers == 1 ? 1 : team_of(std::max(workers, std::min(team_size, most)));
  if (team == 1) {
    for (std::size_t begin = 0; begin < count; begin += grain) {
      progress.stop_if_cancelled();
      body(begin, std::min(count, begin + grain));
    }
    return;
  }

  // An exception must not leave an OpenMP region: keep the first, skip what is left, rethrow
  // outside.
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
#pragma omp parallel for schedule(dynamic) num_threads(team)
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    if (failed.load(std::memory_order_relaxed)) continue;
    try {
      if (omp_get_thread_num() == 0) progress.stop_if_cancelled();
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
