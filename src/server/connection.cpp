#include "connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

namespace diml::server {
namespace {

constexpr std::size_t kReceived = 65536;
constexpr auto kLookUp = std::chrono::milliseconds(100);  // between looks at `stopping`
// What a client may go on to send after it was refused, so that it reads why.
constexpr std::size_t kLingerBytes = std::size_t{64} << 20;

const char* reason_of(int status) {
  switch (status) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Bad Request";
  }
}

}  // namespace

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Connection::Connection(socket_t socket, const ServerLimits& limits,
                       const std::atomic<bool>& stopping)
    : socket_(socket), limits_(limits), stopping_(stopping) {}

Connection::Ready Connection::wait_for(short events, Clock::time_point until) const {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return Ready::late;
    pollfd one{socket_, events, 0};
    const int count = ::poll(&one, 1, static_cast<int>(std::min<long long>(left + 1, 60'000)));
    if (count > 0) return Ready::yes;
    if (count < 0 && errno != EINTR) return Ready::yes;  // reading or writing will tell
  }
}

bool Connection::wait_for_request() {
  const Clock::time_point until = after(limits_.idle_seconds);
  while (taken_ == arrived_.size()) {
    if (stopping_) return false;
    if (wait_for(POLLIN, std::min(until, Clock::now() + kLookUp)) == Ready::yes) break;
    if (Clock::now() >= until) return false;
  }
  deadline_ = after(limits_.receive_seconds);
  timed_out_ = too_large_ = written_ = false;
  return true;
}

bool Connection::receive() {
  if (taken_ == arrived_.size()) {
    arrived_.clear();
    taken_ = 0;
  }
  if (wait_for(POLLIN, deadline_) == Ready::late) {
    timed_out_ = true;
    return false;
  }
  const std::size_t before = arrived_.size();
  arrived_.resize(before + kReceived);
  ssize_t count = 0;
  do {
    count = ::recv(socket_, arrived_.data() + before, kReceived, 0);
  } while (count < 0 && errno == EINTR);
  arrived_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0;
}

std::string Connection::read_head() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  arrived_.erase(0, taken_);
  taken_ = 0;
  std::size_t looked_at = 0;
  while (true) {
    const std::size_t end = arrived_.find(kEnd, looked_at);
    if (end != std::string::npos && end + kEnd.size() <= limits_.head) {
      taken_ = end + kEnd.size();
      return arrived_.substr(0, taken_);
    }
    if (end != std::string::npos || arrived_.size() > limits_.head) {
      throw Refusal(431, "the headers are larger than " + std::to_string(limits_.head) + " bytes");
    }
    looked_at = arrived_.size() < kEnd.size() ? 0 : arrived_.size() - kEnd.size();
    if (receive()) continue;
    if (timed_out_) throw Refusal(408, "the headers took too long to arrive");
    if (arrived_.empty()) return "";
    throw Refusal(400, "the request is cut off");
  }
}

void Connection::hand_over(const Head& head) {
  head_ = head.text;
  head_taken_ = 0;
  chunked_ = head.chunked;
  unread_ = head.content_length;
  // Chunks have lengths and ends of their own.
  allowed_ = head.chunked ? limits_.body + limits_.body / 4 + 65536 : head.content_length;
}

ssize_t Connection::read(char* bytes, std::size_t size) {
  if (head_taken_ < head_.size()) {
    const std::size_t count = std::min(size, head_.size() - head_taken_);
    std::memcpy(bytes, head_.data() + head_taken_, count);
    head_taken_ += count;
    return static_cast<ssize_t>(count);
  }
  if (allowed_ == 0) {
    too_large_ = chunked_;
    return -1;
  }
  if (taken_ == arrived_.size() && !receive()) return timed_out_ ? -1 : 0;
  const std::size_t count =
      std::min({size, arrived_.size() - taken_, static_cast<std::size_t>(allowed_)});
  std::memcpy(bytes, arrived_.data() + taken_, count);
  taken_ += count;
  allowed_ -= count;
  unread_ -= std::min<std::uint64_t>(unread_, count);
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* bytes, std::size_t size) {
  // From the first byte of an answer on the time runs for the answer.
  if (!written_) deadline_ = after(limits_.receive_seconds);
  written_ = true;
  std::size_t sent = 0;
  while (sent < size) {
    if (wait_for(POLLOUT, deadline_) == Ready::late) return -1;
    const ssize_t count = ::send(socket_, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) return -1;
    sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  return static_cast<ssize_t>(size);
}

void Connection::refuse(const Refusal& refusal) {
  const std::string body = error_json(refusal.line());
  const std::string status = std::to_string(refusal.status()) + " " + reason_of(refusal.status());
  std::string answer = "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\n" +
                       "Content-Length: " + std::to_string(body.size()) + "\r\n" +
                       "X-Content-Type-Options: nosniff\r\nConnection: close\r\n";
  if (refusal.status() == kBusy) answer += "Retry-After: 1\r\n";
  if (refusal.status() == 401) answer += "WWW-Authenticate: Bearer\r\n";
  answer += "\r\n" + body;
  (void)write(answer.data(), answer.size());
}

void Connection::close(double linger_seconds) {
  ::shutdown(socket_, SHUT_WR);
  std::string rest(kReceived, '\0');
  std::size_t dropped = 0;
  const Clock::time_point until = after(linger_seconds);
  while (!stopping_ && dropped < kLingerBytes && wait_for(POLLIN, until) == Ready::yes) {
    const ssize_t count = ::recv(socket_, rest.data(), rest.size(), MSG_DONTWAIT);
    if (count <= 0) break;
    dropped += static_cast<std::size_t>(count);
  }
  ::close(socket_);
}

bool Connection::is_readable() const {
  return taken_ < arrived_.size() || wait_for(POLLIN, deadline_) == Ready::yes;
}

bool Connection::is_writable() const { return wait_for(POLLOUT, deadline_) == Ready::yes; }

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace diml::server
