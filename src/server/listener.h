#pragma once

#include <atomic>
#include <functional>
#include <string>

#include <sys/socket.h>

namespace diml::server {

// The door: a socket that listens at an address.
class Listener {
 public:
  // host: an IPv4 or IPv6 address, or a name, of which the first address that can be had is taken.
  // port: 0 for any that is free. Throws Error where there is none.
  Listener(const std::string& host, int port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

  // Hands over the socket of each client that comes, until stopping.
  void accept_until(const std::atomic<bool>& stopping,
                    const std::function<void(int socket)>& arrived) const;

 private:
  int socket_ = -1;
  int port_ = 0;
  sockaddr_storage address_{};
  socklen_t address_size_ = 0;
};

}  // namespace diml::server
