#include "server/proxy.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml::test {
namespace {

std::string haproxy() {
  for (const char* place : {"/usr/sbin/haproxy", "/usr/local/sbin/haproxy"}) {
    if (::access(place, X_OK) == 0) return place;
  }
  return "";
}

bool is_of_nginx(const std::string& configuration) { return configuration.ends_with(".conf"); }

void replace(std::string& text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw Error("the configuration has no line '" + what + "'");
  text.replace(at, what.size(), by);
}

}  // namespace

std::string Proxy::program_for(const std::string& configuration) {
  return is_of_nginx(configuration) ? Nginx::program() : haproxy();
}

Proxy::Proxy(const std::string& configuration, const std::map<std::string, int>& ports) {
  std::ifstream file(configuration);
  std::string lines{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string here = "127.0.0.1:";
  for (const auto& [written, port] : ports) {
    replace(lines, here + written, here + std::to_string(port));
  }
  if (is_of_nginx(configuration)) {
    replace(lines, "listen 80;", "listen " + here + std::to_string(port_) + ";");
    nginx_ = std::make_unique<Nginx>("access_log off;\n" + lines, port_, Nginx::Master::yes,
                                     Nginx::User::ordinary);
  } else {
    replace(lines, "bind :80", "bind " + here + std::to_string(port_));
    start_haproxy(lines);
  }
}

void Proxy::start_haproxy(const std::string& lines) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const std::string name = folder_ / "haproxy.cfg";
  std::ofstream(name) << lines;
  const std::string program = haproxy();
  process_ = ::fork();
  if (process_ == 0) {
    if (::geteuid() == 0) become_nobody();
    ::execl(program.c_str(), program.c_str(), "-q", "-db", "-f", name.c_str(), nullptr);
    ::_exit(127);
  }
  for (int wait = 0; wait < 500; ++wait) {
    if (listens(port_)) return;
    if (::waitpid(process_, nullptr, WNOHANG) != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw Error("HAProxy does not start: " + program + " -f " + name);
}

Proxy::~Proxy() {
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace diml::test
