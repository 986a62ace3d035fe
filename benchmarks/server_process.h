#pragma once

#include <csignal>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace diml::test {

// The server runs as a separate process, so that its memory can be measured.
class ServerProcess {
 public:
  ServerProcess(const std::string& program, const std::string& gallery) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::execl(program.c_str(), program.c_str(), "serve", gallery.c_str(), "--port", "0", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string line;
    char c = 0;
    while (::read(ends[0], &c, 1) == 1 && c != '\n') line += c;
    ::close(ends[0]);
    const std::size_t at = line.find("http://127.0.0.1:");
    if (at == std::string::npos) throw std::runtime_error(program + " does not serve " + gallery);
    port_ = std::stoi(line.substr(at + 17));
  }
  int port() const { return port_; }
  int stop() const {
    ::kill(process_, SIGTERM);
    int status = 0;
    ::waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
  int port_ = 0;
};

}  // namespace diml::test
