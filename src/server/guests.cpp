#include "guests.h"

#include <array>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace diml::server {

std::string Guests::party_of(const std::string& address) {
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &bytes) != 1) {
    return address;
  }
  for (std::size_t k = 8; k < 16; ++k) bytes.s6_addr[k] = 0;
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &bytes, text.data(), text.size());
  return std::string(text.data()) + "/64";
}

Guests::Seat Guests::seat(const std::string& party) {
  auto give_back = [book = book_, party](void*) {
    const std::lock_guard lock(book->mutex);
    --book->total;
    const auto found = book->seats.find(party);
    if (--found->second == 0) book->seats.erase(found);
  };
  {
    const std::lock_guard lock(book_->mutex);
    ++book_->seats[party];
    ++book_->total;
  }
  return {book_.get(), std::move(give_back)};  // gives it back where there is no memory for it
}

std::size_t Guests::total() const {
  const std::lock_guard lock(book_->mutex);
  return book_->total;
}

std::size_t Guests::of(const std::string& party) const {
  const std::lock_guard lock(book_->mutex);
  const auto found = book_->seats.find(party);
  return found == book_->seats.end() ? 0 : found->second;
}

}  // namespace diml::server
