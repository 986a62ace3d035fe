#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "diml/server.h"
#include "patience.h"

namespace diml::server {

// A client's socket. Nothing here waits: the Front waits for all sockets together.
class Connection {
 public:
  // Owns the socket, which does not block. peer: the client's address, see ServedRequest.
  Connection(int socket, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  const std::string& peer() const { return peer_; }

  // Takes what has arrived, up to a block.
  enum class Got { bytes, nothing, end };
  Got receive();
  // The head including the empty line, if it has arrived. Throws Refusal if it is too large.
  std::optional<std::string> take_head(std::size_t most);
  // Bytes that have arrived and are not yet consumed: of the body, or of the next request.
  std::string_view unread() const { return std::string_view(arrived_).substr(taken_); }
  void take(std::size_t bytes) { taken_ += bytes; }
  // Frees the memory of what was consumed.
  void tidy();

  // Whether the client has disconnected: it has closed its side and sent nothing else.
  bool client_is_gone() const;

  // Sends what the socket takes now, both parts in one packet if they fit. Returns how many bytes;
  // none if the client is gone.
  std::optional<std::size_t> write(std::string_view first, std::string_view second = {});
  // Nothing follows. What the client is still sending must be received, or it does not get the
  // answer.
  void end_writing();

 private:
  int socket_;
  std::string peer_;
  std::string arrived_;
  std::size_t taken_ = 0;
  std::size_t looked_at_ = 0;  // of unread(), without the end of a head
};

}  // namespace diml::server
