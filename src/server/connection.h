#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "diml/server.h"
#include "patience.h"

namespace diml::server {

// A client's socket, with a bound on everything the client may do: how long a request takes to
// arrive, how large its head is, how long the answer takes to leave.
class Connection {
 public:
  // Owns the socket.
  Connection(int socket, const ServerLimits& limits, const std::atomic<bool>& stopping);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether a request begins; false when the client is gone, idle for long, or the server stops.
  bool wait_for_request();
  // Up to and with the empty line; "" where the client is gone. Throws Refusal.
  std::string read_head();

  // What has arrived behind the head and was not taken: of the body, or of the next request.
  std::string_view unread() const { return std::string_view(arrived_).substr(taken_); }
  void take(std::size_t bytes) { taken_ += bytes; }
  // Waits for more of it; false where the client is gone. Throws Refusal 408.
  bool receive();

  // Whether nobody waits for the answer: the client has closed its side, and sent nothing else.
  bool client_is_gone() const;

  // From here on time runs for the answer.
  void begin_answer();
  // Both parts in one packet where they fit; false where the client does not take them.
  bool write(std::string_view first, std::string_view second = {});

  // So that the client gets the answer even while it is still sending: what it sends is read for a
  // moment and dropped.
  void close(double linger_seconds);

 private:
  enum class Ready { yes, late };
  Ready wait_for(short events, Clock::time_point until) const;

  int socket_;
  const ServerLimits& limits_;
  const std::atomic<bool>& stopping_;
  Clock::time_point deadline_;
  std::string arrived_;
  std::size_t taken_ = 0;
};

}  // namespace diml::server
