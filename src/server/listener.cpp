#include "listener.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml::server {
namespace {

// Length of the queue of connecting clients; a client that finds it full retries after a second.
constexpr int kBacklog = 1024;
constexpr mode_t kSocketMode = 0660;

// parameter: host or port, whichever has to change.
[[noreturn]] void refuse(ErrorKind kind, const std::string& host, int port, const char* why,
                         const char* parameter) {
  throw Error(kind,
              host + ":" + std::to_string(port) + " cannot be served: " + why +
                  ": choose another " + parameter,
              parameter);
}

void switch_on(int socket, int level, int option) {
  const int yes = 1;
  ::setsockopt(socket, level, option, &yes, sizeof(yes));
}

// -1 with errno on failure. Not SO_REUSEPORT: a second server on the same port would silently take
// half of the requests.
int listening_at(const addrinfo& address) {
  const int made = ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                            address.ai_protocol);
  if (made < 0) return -1;
  switch_on(made, SOL_SOCKET, SO_REUSEADDR);
  if (::bind(made, address.ai_addr, address.ai_addrlen) == 0 && ::listen(made, kBacklog) == 0) {
    return made;
  }
  const int why = errno;
  ::close(made);
  errno = why;
  return -1;
}

int port_of(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// As text; "unix" of a Unix socket, whose clients have no address.
std::string peer_in(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return "unix";
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
  } else if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    // A server at [::] sees clients of IPv4 as ::ffff:192.0.2.7.
    if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
      ::inet_ntop(AF_INET, six.sin6_addr.s6_addr + 12, text.data(), text.size());
    } else {
      ::inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
    }
  }
  return text.front() == '\0' ? "-" : text.data();
}

[[noreturn]] void refuse_socket(ErrorKind kind, const std::string& path, const std::string& why) {
  throw Error(kind, path + ": cannot be served: " + why, "socket");
}

// The socket file of a server that was killed is removed; that of a running server stays.
void expect_free(const std::string& path, const sockaddr_un& address) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) return;
  if (!S_ISSOCK(about.st_mode)) {
    refuse_socket(ErrorKind::conflict, path, "another file is there: choose another path");
  }
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is_served =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno != ECONNREFUSED;
  ::close(probe);
  if (is_served) {
    refuse_socket(ErrorKind::conflict, path, "another server is there: choose another path");
  }
  ::unlink(path.c_str());
}

}  // namespace

Listener::Listener(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (unknown != 0) refuse(ErrorKind::bad_input, host, port, ::gai_strerror(unknown), "host");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr && socket_ < 0; one = one->ai_next) {
    socket_ = listening_at(*one);
  }
  if (socket_ < 0) {
    const int failed = errno;
    const ErrorKind kind = failed == EADDRINUSE ? ErrorKind::conflict : ErrorKind::bad_input;
    refuse(kind, host, port, std::strerror(failed), failed == EADDRNOTAVAIL ? "host" : "port");
  }
  address_size_ = sizeof(address_);
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &address_size_);
  port_ = port_of(address_);
}

Listener::Listener(const std::string& path) : path_(path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    refuse_socket(ErrorKind::bad_input, path,
                  "a socket's path has at most " + std::to_string(sizeof(address.sun_path) - 1) +
                      " bytes: choose a shorter one");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  expect_free(path, address);
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // Before the file exists: at no moment may others connect.
  ::fchmod(socket_, kSocketMode);
  struct stat about {};
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), kSocketMode) != 0 || ::listen(socket_, kBacklog) != 0 ||
      ::stat(path.c_str(), &about) != 0) {
    const int failed = errno;
    ::close(socket_);
    refuse_socket(ErrorKind::bad_input, path,
                  std::strerror(failed) + std::string(": choose another path"));
  }
  device_ = about.st_dev;
  inode_ = about.st_ino;
  address_size_ = sizeof(address_);
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &address_size_);
}

Listener::~Listener() {
  ::close(socket_);
  struct stat about {};
  if (!path_.empty() && ::lstat(path_.c_str(), &about) == 0 && about.st_dev == device_ &&
      about.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

Listener::Arrival Listener::accept() const {
  sockaddr_storage from{};
  socklen_t size = sizeof(from);
  const int client =
      ::accept4(socket_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client >= 0) {
    if (path_.empty()) switch_on(client, IPPROTO_TCP, TCP_NODELAY);
    if (!path_.empty()) from.ss_family = AF_UNIX;
    return {Came::client, client, peer_in(from)};
  }
  switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return {Came::no_files};
    case EINVAL:  // the socket was shut down
      listen_again();
      break;
    default:  // no client, or one that has disconnected already
      break;
  }
  return {Came::nobody};
}

void Listener::listen_again() const {
  (void)::bind(socket_, reinterpret_cast<const sockaddr*>(&address_), address_size_);
  ::listen(socket_, kBacklog);
}

}  // namespace diml::server
