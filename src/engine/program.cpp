#include "program.h"

#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_error.h"
#include "diml/error.h"

namespace diml {
namespace {

// Programs say first what is wrong and then what one might do about it.
std::string first_lines(const std::string& path, int wanted) {
  std::ifstream file(path);
  std::string line;
  std::string text;
  while (wanted > 0 && std::getline(file, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + line;
    --wanted;
  }
  return text;
}

}  // namespace

void run_program(const std::vector<std::string>& arguments, const std::string& folder,
                 const std::string& remedy, const char* call) {
  const std::string complaints = folder + "/stderr";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, complaints.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT)
    throw Error(ErrorKind::unsupported, arguments[0] + " is not installed: " + remedy, call);
  if (failed != 0) throw system_error(arguments[0] + " cannot be started", failed);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    throw Error(ErrorKind::unsupported, arguments[0] + " is not installed: " + remedy, call);
  }
  std::string command;
  for (const std::string& argument : arguments) command += (command.empty() ? "" : " ") + argument;
  const std::string said = first_lines(complaints, 2);
  throw Error(ErrorKind::out_of_resources,
              "'" + command + "' failed" + (said.empty() ? " and did not say why" : ": " + said));
}

}  // namespace diml
