#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <map>
#include <thread>

#include "base/system_error.h"
#include "diml/error.h"
#include "experiments/run_experiments.h"

namespace diml::experiments {
namespace {

using Clock = std::chrono::steady_clock;

struct Running {
  const Job* job = nullptr;
  Clock::time_point start{};
};

// Starts the job in a process group of its own: Ctrl-C on the terminal reaches only this program,
// which interrupts each job once.
pid_t start(const Job& job) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, job.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> arguments;
  for (const std::string& argument : job.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int failed =
      posix_spawn(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    throw system_error(job.name + ": cannot be started with its output in " + job.log, failed);
  }
  return process;
}

}  // namespace

void run_jobs(const std::vector<Job>& jobs, std::size_t parallel,
              const Progress::Cancelled& cancelled,
              const std::function<void(const FinishedJob&)>& on_finish) {
  constexpr std::chrono::milliseconds kPollInterval(20);
  std::map<pid_t, Running> running;
  std::size_t next = 0;
  bool stopping = false;
  std::exception_ptr failed;  // rethrown when no job is running
  const auto interrupt = [&] {
    stopping = true;
    for (const auto& [process, one] : running) ::kill(process, SIGINT);
  };
  while (true) {
    if (!stopping && cancelled && cancelled()) interrupt();
    while (!stopping && next < jobs.size() && running.size() < parallel) {
      const Job& job = jobs[next++];
      try {
        running[start(job)] = {&job, Clock::now()};
      } catch (const Error&) {
        failed = std::current_exception();
        interrupt();
      }
    }
    if (running.empty()) break;
    for (auto one = running.begin(); one != running.end();) {
      int status = 0;
      if (::waitpid(one->first, &status, WNOHANG) != one->first) {
        ++one;
        continue;
      }
      const Running ended = one->second;
      one = running.erase(one);
      const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      on_finish({ended.job->name, code,
                 std::chrono::duration<double>(Clock::now() - ended.start).count()});
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace diml::experiments
