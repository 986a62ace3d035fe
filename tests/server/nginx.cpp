#include "server/nginx.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml::test {
namespace {

constexpr unsigned kNobody = 65534;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

void become_nobody() {
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)
    ::_exit(126);
}

bool listens(int port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  const bool yes =
      ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(made);
  return yes;
}

namespace {

std::string text_of(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  return text.str();
}

}  // namespace

std::string Nginx::program() {
  for (const char* place : {"/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"}) {
    if (::access(place, X_OK) == 0) return place;
  }
  return "";
}

int Nginx::free_port() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  ::bind(made, reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(made, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(made);
  return ntohs(address.sin_port);
}

Nginx::Nginx(const std::string& http, int port, Master master, User user) {
  // Its worker may be another user's.
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const bool is_nobody = user == User::ordinary && ::geteuid() == 0;
  if (is_nobody && ::chown(folder_.path().c_str(), kNobody, kNobody) != 0) {
    throw Error(folder_.path() + ": cannot be given to another user");
  }
  std::ofstream file(at("nginx.conf"));
  if (::geteuid() == 0 && !is_nobody) file << "user root;\n";
  file << "daemon off;\nmaster_process " << (master == Master::yes ? "on" : "off")
       << ";\npid nginx.pid;\nerror_log error.log;\n"
       << "events { worker_connections 512; }\nhttp {\n"
       << "client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;\n"
       << "uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n"
       << http << "}\n";
  file.close();
  const std::string name = program();
  const std::string prefix = folder_.path() + "/";
  process_ = ::fork();
  if (process_ == 0) {
    if (is_nobody) become_nobody();
    ::execl(name.c_str(), name.c_str(), "-p", prefix.c_str(), "-c", "nginx.conf", "-e", "error.log",
            nullptr);
    ::_exit(127);
  }
  for (int wait = 0; wait < 500; ++wait) {
    if (listens(port)) return;
    if (::waitpid(process_, nullptr, WNOHANG) != 0) {
      process_ = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  stop();
  throw Error("nginx does not start: " + text_of(at("error.log")));
}

void Nginx::reload() const { ::kill(process_, SIGHUP); }

void Nginx::stop() {
  if (process_ <= 0) return;
  ::kill(process_, SIGQUIT);  // after the running requests
  for (int wait = 0; wait < 100 && ::waitpid(process_, nullptr, WNOHANG) == 0; ++wait) {
    if (wait == 50) ::kill(process_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  process_ = -1;
}

}  // namespace diml::test
