#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml {
namespace {

// Sets DIML_THREADS, and restores its old value.
class ThreadsVariable {
 public:
  explicit ThreadsVariable(const char* value) {
    if (const char* before = std::getenv(kName)) before_ = before;
    ::setenv(kName, value, 1);
  }
  ~ThreadsVariable() { before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName); }

 private:
  static constexpr const char* kName = "DIML_THREADS";
  std::optional<std::string> before_;
};

// How often each of [0, count) was visited; fails on a chunk that is empty, too long or outside.
std::vector<int> visits(std::size_t count, std::size_t grain, int threads) {
  std::vector<std::atomic<int>> visited(count);
  std::atomic<bool> bad_chunk{false};
  parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
    if (begin >= end || end > count || end - begin > std::max<std::size_t>(grain, 1)) {
      bad_chunk = true;
      return;
    }
    for (std::size_t i = begin; i < end; ++i) ++visited[i];
  });
  EXPECT_FALSE(bad_chunk);
  return {visited.begin(), visited.end()};
}

TEST(ParallelFor, VisitsEachIndexExactlyOnce) {
  for (const std::size_t count : {0u, 1u, 2u, 7u, 64u, 1000u}) {
    for (const std::size_t grain : {0u, 1u, 3u, 64u, 999u, 5000u}) {
      for (const int threads : {0, 1, 2, 3, 8}) {
        ASSERT_EQ(visits(count, grain, threads), std::vector<int>(count, 1))
            << count << " indices, grain " << grain << ", " << threads << " threads";
      }
    }
  }
}

TEST(ParallelFor, TakesTheLargestGrainForOneChunk) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  for (const int threads : {1, 4}) {
    EXPECT_EQ(visits(5, kAll, threads), std::vector<int>(5, 1)) << threads << " threads";
    EXPECT_EQ(visits(5, kAll - 2, threads), std::vector<int>(5, 1)) << threads << " threads";
  }
}

TEST(ParallelFor, RunsInOrderOnTheCallingThreadWithOneThread) {
  std::vector<std::size_t> begins;
  std::vector<std::thread::id> ids;
  parallel_for(10, 4, 1, [&](std::size_t begin, std::size_t) {
    begins.push_back(begin);
    ids.push_back(std::this_thread::get_id());
  });
  EXPECT_EQ(begins, (std::vector<std::size_t>{0, 4, 8}));
  EXPECT_EQ(ids, std::vector<std::thread::id>(3, std::this_thread::get_id()));
}

TEST(ParallelFor, RunsTwoChunksAtTheSameTimeOnTwoThreads) {
  // Each chunk waits until the other has started: a single thread would wait in vain, and gives up.
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0;
  std::atomic<int> met{0};
  parallel_for(2, 1, 2, [&](std::size_t, std::size_t) {
    std::unique_lock lock(mutex);
    ++begun;
    changed.notify_all();
    if (changed.wait_for(lock, std::chrono::seconds(10), [&] { return begun == 2; })) ++met;
  });
  EXPECT_EQ(met, 2);
}

TEST(ParallelFor, RethrowsWhatAChunkThrows) {
  for (const int threads : {1, 2, 8}) {
    try {
      parallel_for(100, 1, threads, [](std::size_t begin, std::size_t) {
        if (begin == 57) throw Error("chunk 57 went wrong");
      });
      FAIL() << "nothing was thrown with " << threads << " threads";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "chunk 57 went wrong");
    }
  }
}

TEST(ParallelFor, RethrowsOnlyWhenAllChunksHaveEnded) {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  EXPECT_THROW(parallel_for(64, 1, 4,
                            [&](std::size_t begin, std::size_t) {
                              ++begun;
                              if (begin % 8 == 3) {
                                ++ended;
                                throw Error("one of several");
                              }
                              volatile double work = 1.0;
                              for (int k = 0; k < 10000; ++k) work = work * 1.000001;
                              ++ended;
                            }),
               Error);
  EXPECT_EQ(begun, ended);
}

TEST(ParallelFor, WorksAgainAfterAnException) {
  EXPECT_THROW(parallel_for(8, 1, 4, [](std::size_t, std::size_t) { throw Error("always"); }),
               Error);
  EXPECT_EQ(visits(100, 7, 4), std::vector<int>(100, 1));
}

TEST(DefaultThreads, AreWhatTheEnvironmentAsksFor) {
  const ThreadsVariable three("3");
  EXPECT_EQ(default_threads(), 3);
}

TEST(DefaultThreads, AreAtLeastOneWhateverTheEnvironmentHolds) {
  for (const char* value : {"", "0", "-4", "many"}) {
    const ThreadsVariable nonsense(value);
    EXPECT_GE(default_threads(), 1) << value;
  }
}

}  // namespace
}  // namespace diml
