#pragma once

#include <string>

#include <sys/socket.h>
#include <sys/types.h>

namespace diml::server {

// A socket that listens at an address, or at a file.
class Listener {
 public:
  // host: an IPv4 or IPv6 address, or a name, whose first available address is used. port: 0 for
  // any free one. Throws Error if none is available.
  Listener(const std::string& host, int port);
  // A Unix socket. Its users are those who may write to the file: the owner and the group.
  explicit Listener(const std::string& path);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int socket() const { return socket_; }
  int port() const { return port_; }  // 0 for a Unix socket

  // The next client that has connected; its socket does not block. Nothing waits here.
  enum class Came { client, nobody, no_files };
  struct Arrival {
    Came came = Came::nobody;
    int socket = -1;
    std::string peer{};  // as ServedRequest::client
  };
  Arrival accept() const;

 private:
  void listen_again() const;

  int socket_ = -1;
  int port_ = 0;
  sockaddr_storage address_{};
  socklen_t address_size_ = 0;
  std::string path_;  // of a Unix socket
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace diml::server
