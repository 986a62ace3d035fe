#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include <httplib.h>

#include "diml/server.h"
#include "head.h"
#include "refusal.h"

namespace diml::server {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds);

// A client's socket, with a bound on everything it may do: how long a request takes to arrive, how
// large it is, how long the answer takes to leave.
class Connection : public httplib::Stream {
 public:
  Connection(socket_t socket, const ServerLimits& limits, const std::atomic<bool>& stopping);

  // Whether a request begins; false when the client is gone, idle for long, or the server stops.
  bool wait_for_request();
  // Throws Refusal; "" where the client is gone.
  std::string read_head();
  // From here on the HTTP library reads: this text, then the body.
  void hand_over(const Head& head);

  bool timed_out() const { return timed_out_; }
  bool too_large() const { return too_large_; }
  bool answered() const { return written_; }
  // Whether the client has sent what nobody read: the next request would begin in its middle.
  bool has_unread_body() const { return unread_ > 0; }

  void refuse(const Refusal& refusal);
  // So that the client gets the answer even while it is still sending.
  void close(double linger_seconds);

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* bytes, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  enum class Ready { yes, late };
  Ready wait_for(short events, Clock::time_point until) const;
  // More bytes behind arrived_; false at the end, or too late.
  bool receive();

  socket_t socket_;
  const ServerLimits& limits_;
  const std::atomic<bool>& stopping_;
  Clock::time_point deadline_;
  std::string arrived_;  // and not yet read
  std::size_t taken_ = 0;
  std::string head_;
  std::size_t head_taken_ = 0;
  std::uint64_t unread_ = 0;   // of the body, where its length is known
  std::uint64_t allowed_ = 0;  // of the body
  bool chunked_ = false;
  bool timed_out_ = false;
  bool too_large_ = false;
  bool written_ = false;
};

}  // namespace diml::server
