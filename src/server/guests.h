#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace diml::server {

// Counts the open connections by the address of the client.
class Guests {
 public:
  // Connections of one party are counted together: of an IPv4 address, or of an IPv6 network (/64),
  // because a client that has one address of such a network has all of them.
  static std::string party_of(const std::string& address);

  // A place that is given back when the pointer ends.
  using Seat = std::shared_ptr<void>;
  Seat seat(const std::string& party);

  std::size_t total() const;
  std::size_t of(const std::string& party) const;

 private:
  struct Book {
    std::mutex mutex;
    std::map<std::string, std::size_t> seats;
    std::size_t total = 0;
  };
  // A seat may outlive this object.
  std::shared_ptr<Book> book_ = std::make_shared<Book>();
};

}  // namespace diml::server
