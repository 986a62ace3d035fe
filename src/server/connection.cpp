#include "connection.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "refusal.h"

namespace diml::server {
namespace {

constexpr std::size_t kReceived = 65536;

iovec piece_of(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

bool is_for_now(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Connection::Connection(int socket, std::string peer) : socket_(socket), peer_(std::move(peer)) {}

Connection::~Connection() { ::close(socket_); }

Connection::Got Connection::receive() {
  tidy();
  static thread_local std::array<char, kReceived> block;
  const ssize_t count = ::recv(socket_, block.data(), block.size(), MSG_DONTWAIT);
  if (count < 0) return is_for_now(errno) ? Got::nothing : Got::end;
  if (count == 0) return Got::end;
  arrived_.append(block.data(), static_cast<std::size_t>(count));
  return Got::bytes;
}

void Connection::tidy() {
  if (taken_ == 0) return;
  arrived_.erase(0, taken_);
  taken_ = 0;
  looked_at_ = 0;
  if (arrived_.empty() && arrived_.capacity() > kReceived) arrived_.shrink_to_fit();
}

std::optional<std::string> Connection::take_head(std::size_t most) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::string_view text = unread();
  const std::size_t end = text.find(kEnd, looked_at_);
  if (end != std::string_view::npos && end + kEnd.size() <= most) {
    std::string head(text.substr(0, end + kEnd.size()));
    take(head.size());
    looked_at_ = 0;
    return head;
  }
  if (end != std::string_view::npos || text.size() > most) {
    throw Refusal(431, "the headers are larger than " + std::to_string(most) + " bytes");
  }
  looked_at_ = text.size() < kEnd.size() ? 0 : text.size() - kEnd.size();
  return std::nullopt;
}

bool Connection::client_is_gone() const {
  if (!unread().empty()) return false;
  char next = 0;
  const ssize_t count = ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && !is_for_now(errno));
}

std::optional<std::size_t> Connection::write(std::string_view first, std::string_view second) {
  std::array<iovec, 2> pieces = {piece_of(first), piece_of(second)};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  std::size_t left = first.size() + second.size();
  std::size_t sent_in_all = 0;
  while (left > 0) {
    const ssize_t count = ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && is_for_now(errno)) break;
    if (count < 0) return std::nullopt;
    auto sent = static_cast<std::size_t>(count);
    left -= sent;
    sent_in_all += sent;
    for (iovec& piece : pieces) {
      const std::size_t of_it = std::min(sent, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + of_it;
      piece.iov_len -= of_it;
      sent -= of_it;
    }
  }
  return sent_in_all;
}

void Connection::end_writing() { ::shutdown(socket_, SHUT_WR); }

}  // namespace diml::server
