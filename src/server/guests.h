#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace diml::server {

// How many connections are open, by the address that they come from.
class Guests {
 public:
  // Whose connections are counted together: an address of IPv4, the network (/64) of an address of
  // IPv6, because whoever has one of its addresses has all of them.
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
