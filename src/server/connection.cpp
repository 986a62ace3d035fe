#include "connection.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "refusal.h"

namespace diml::server {
namespace {

constexpr std::size_t kReceived = 65536;
constexpr auto kLookUp = std::chrono::milliseconds(100);  // between looks at `stopping`
// What a client may go on to send after it was refused, so that it reads why.
constexpr std::size_t kLingerBytes = std::size_t{64} << 20;

iovec piece_of(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

Connection::Connection(int socket, const ServerLimits& limits, const std::atomic<bool>& stopping)
    : socket_(socket), limits_(limits), stopping_(stopping) {}

Connection::~Connection() {
  if (socket_ >= 0) ::close(socket_);
}

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
  while (unread().empty()) {
    if (stopping_) return false;
    if (wait_for(POLLIN, std::min(until, Clock::now() + kLookUp)) == Ready::yes) break;
    if (Clock::now() >= until) return false;
  }
  deadline_ = after(limits_.receive_seconds);
  return true;
}

bool Connection::receive() {
  arrived_.erase(0, taken_);
  taken_ = 0;
  if (wait_for(POLLIN, deadline_) == Ready::late) {
    throw Refusal(408, "the request took too long to arrive");
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
  std::size_t looked_at = 0;
  while (true) {
    const std::string_view text = unread();
    const std::size_t end = text.find(kEnd, looked_at);
    if (end != std::string_view::npos && end + kEnd.size() <= limits_.head) {
      std::string head(text.substr(0, end + kEnd.size()));
      take(head.size());
      return head;
    }
    if (end != std::string_view::npos || text.size() > limits_.head) {
      throw Refusal(431, "the headers are larger than " + std::to_string(limits_.head) + " bytes");
    }
    looked_at = text.size() < kEnd.size() ? 0 : text.size() - kEnd.size();
    if (receive()) continue;
    if (unread().empty()) return "";
    throw Refusal(400, "the request is cut off");
  }
}

bool Connection::client_is_gone() const {
  if (!unread().empty()) return false;
  char next = 0;
  const ssize_t count = ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void Connection::begin_answer() { deadline_ = after(limits_.receive_seconds); }

bool Connection::write(std::string_view first, std::string_view second) {
  std::array<iovec, 2> pieces = {piece_of(first), piece_of(second)};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  std::size_t left = first.size() + second.size();
  while (left > 0) {
    if (wait_for(POLLOUT, deadline_) == Ready::late) return false;
    const ssize_t count = ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    auto sent = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    left -= sent;
    for (iovec& piece : pieces) {
      const std::size_t of_it = std::min(sent, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + of_it;
      piece.iov_len -= of_it;
      sent -= of_it;
    }
  }
  return true;
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
  socket_ = -1;
}

}  // namespace diml::server
