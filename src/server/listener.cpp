#include "listener.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml::server {
namespace {

// Clients that connect in the same moment: who finds no room waits for a second.
constexpr int kBacklog = 1024;
constexpr int kLookUp = 50;  // milliseconds between looks at `stopping`
constexpr auto kBeforeTryingAgain = std::chrono::milliseconds(20);

[[noreturn]] void refuse(ErrorKind kind, const std::string& host, int port, const char* why) {
  throw Error(kind, host + ":" + std::to_string(port) + " cannot be served: " + why +
                        ": choose another --port (0 for any) or --host");
}

void switch_on(int socket, int level, int option) {
  const int yes = 1;
  ::setsockopt(socket, level, option, &yes, sizeof(yes));
}

// -1 with errno where it cannot be had. Not SO_REUSEPORT: a second server on the same port would
// silently take half of the requests.
int listening_at(const addrinfo& address) {
  const int made =
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
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

}  // namespace

Listener::Listener(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (unknown != 0) refuse(ErrorKind::bad_input, host, port, ::gai_strerror(unknown));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr && socket_ < 0; one = one->ai_next) {
    socket_ = listening_at(*one);
  }
  if (socket_ < 0) {
    const ErrorKind kind = errno == EADDRINUSE ? ErrorKind::conflict : ErrorKind::bad_input;
    refuse(kind, host, port, std::strerror(errno));
  }
  address_size_ = sizeof(address_);
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &address_size_);
  port_ = port_of(address_);
}

Listener::~Listener() { ::close(socket_); }

void Listener::accept_until(const std::atomic<bool>& stopping,
                            const std::function<void(int socket)>& arrived) const {
  while (!stopping) {
    pollfd door{socket_, POLLIN, 0};
    if (::poll(&door, 1, kLookUp) <= 0) continue;
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) {
      switch_on(client, IPPROTO_TCP, TCP_NODELAY);
      arrived(client);
      continue;
    }
    // Gone before it was let in.
    if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED) continue;
    // Out of files or memory, which passes; or the socket was shut down, which this undoes.
    std::this_thread::sleep_for(kBeforeTryingAgain);
    (void)::bind(socket_, reinterpret_cast<const sockaddr*>(&address_), address_size_);
    ::listen(socket_, kBacklog);
  }
}

}  // namespace diml::server
