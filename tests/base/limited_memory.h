#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml::test {

// Sanitizers keep terabytes of addresses for themselves: a limit of addresses has no meaning there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryCanBeLimited = false;
#else
constexpr bool kMemoryCanBeLimited = true;
#endif

// Bytes of addresses that this process has.
inline std::size_t addresses_in_use() {
  std::size_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Runs the action in a process of its own that can take `more` bytes. Returns "" where it came to
// its end, otherwise what stopped it: the message of an Error, "out of memory", "a signal".
inline std::string stopped_within(std::size_t more, const std::function<void()>& action) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto answer = [&](const char* text) {
      [[maybe_unused]] const ssize_t written = ::write(ends[1], text, std::strlen(text));
    };
    const rlimit limit{addresses_in_use() + more, addresses_in_use() + more};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      action();
    } catch (const Error& error) {
      answer(error.what());
    } catch (const std::bad_alloc&) {
      answer("out of memory");
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char block[512];
  for (ssize_t got = 0; (got = ::read(ends[0], block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? text : "a signal";
}

}  // namespace diml::test
