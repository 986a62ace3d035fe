#include "cli/program.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace diml::test {
namespace {

// Two ends: the program writes into one, the test reads from the other.
struct Channel {
  int reading = -1;
  int writing = -1;
};

Channel open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

Channel open_terminal() {
  const int reading = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (reading < 0 || ::grantpt(reading) != 0 || ::unlockpt(reading) != 0) {
    throw std::runtime_error("no pseudo-terminal");
  }
  const int writing = ::open(::ptsname(reading), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (writing < 0) throw std::runtime_error("no pseudo-terminal");
  return {reading, writing};
}

// Reads both to their ends as data arrives, so that the program never waits for the test.
void read_all(int out, std::string& out_text, int err, std::string& err_text) {
  std::array<pollfd, 2> waiting = {pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&out_text, &err_text};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      if (waiting[k].fd < 0 || waiting[k].revents == 0) continue;
      std::array<char, 4096> block;
      const ssize_t got = ::read(waiting[k].fd, block.data(), block.size());
      if (got > 0) {
        texts[k]->append(block.data(), static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EINTR) {  // a terminal ends with EIO
        waiting[k].fd = -1;
      }
    }
  }
}

// In the child, between fork and exec.
[[noreturn]] void become_program(char* const* arguments, const ProgramSettings& settings, int out,
                                 int err) {
  if (!settings.folder.empty() && ::chdir(settings.folder.c_str()) != 0) ::_exit(126);
  if (!settings.standard_output.empty()) {
    out = ::open(settings.standard_output.c_str(), O_WRONLY | O_CLOEXEC);
  }
  for (const std::string& variable : settings.environment) {
    const std::size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  if (settings.largest_file > 0) {
    std::signal(SIGXFSZ, SIG_IGN);  // writing fails with an error instead
    const rlimit limit{settings.largest_file, settings.largest_file};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(126);
  }
  const auto limit_to = [](auto resource, std::size_t most) {
    const rlimit limit{most, most};
    if (most > 0 && ::setrlimit(resource, &limit) != 0) ::_exit(126);
  };
  limit_to(RLIMIT_AS, settings.most_memory);
  limit_to(RLIMIT_DATA, settings.most_data);
  limit_to(RLIMIT_NPROC, settings.most_threads);
  limit_to(RLIMIT_NOFILE, settings.most_files);
  // Another user may not be able to walk to the program, but can run it.
  const int program = ::open(DIML_PROGRAM, O_RDONLY | O_CLOEXEC);
  if (settings.user != 0 && (::setgroups(0, nullptr) != 0 || ::setgid(settings.user) != 0 ||
                             ::setuid(settings.user) != 0)) {
    ::_exit(126);
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0) {
    ::_exit(126);
  }
  if (settings.user != 0) ::fexecve(program, arguments, environ);
  ::execv(DIML_PROGRAM, arguments);
  ::_exit(127);
}

}  // namespace

ProgramResult run_diml(const Arguments& arguments, const ProgramSettings& settings) {
  std::vector<std::string> words = {DIML_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const Channel out = open_pipe();
  const Channel err =
      settings.error_stream == ErrorStream::terminal ? open_terminal() : open_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) become_program(pointers.data(), settings, out.writing, err.writing);
  ::close(out.writing);
  ::close(err.writing);
  if (settings.meanwhile) settings.meanwhile(child);
  ProgramResult result;
  read_all(out.reading, result.out, err.reading, result.err);
  ::close(out.reading);
  ::close(err.reading);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace diml::test
