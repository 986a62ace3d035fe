#pragma once

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include <linux/close_range.h>
#include <sys/wait.h>
#include <unistd.h>

namespace diml::test {

// `diml serve` as a separate process, which can be measured, and killed.
class ServerProcess {
 public:
  // Returns when it listens. port: 0 for any.
  ServerProcess(const std::string& program, const std::string& gallery, int port = 0,
                const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {program, "serve", gallery, "--port", std::to_string(port)};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);  // connections of this process
      ::execv(program.c_str(), arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string line;
    char c = 0;
    while (::read(ends[0], &c, 1) == 1 && c != '\n') line += c;
    ::close(ends[0]);
    const std::size_t at = line.find("http://127.0.0.1:");
    if (at == std::string::npos) {
      kill();
      throw std::runtime_error(program + " does not serve " + gallery);
    }
    port_ = std::stoi(line.substr(at + 17));
  }
  ~ServerProcess() { kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  int port() const { return port_; }
  // After running requests; returns the exit code.
  int stop() { return end_by(SIGTERM); }
  void kill() { end_by(SIGKILL); }

 private:
  int end_by(int signal) {
    if (process_ <= 0) return -1;
    ::kill(process_, signal);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t process_ = -1;
  int port_ = 0;
};

}  // namespace diml::test
