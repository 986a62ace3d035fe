#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace diml::server {

// The memory for the bodies of all requests. A client may hold at most twice the memory that is
// still free, so that a client without a request always finds some.
class BodyRooms {
 public:
  explicit BodyRooms(std::size_t most) : most_(most) {}

  // Throws Refusal kBusy.
  void take(const std::string& client, std::size_t bytes);
  void give_back(const std::string& client, std::size_t bytes);
  std::size_t taken() const;

 private:
  std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> taken_;
  std::size_t total_ = 0;
};

// What one request has taken, until it ends.
class BodyRoom {
 public:
  explicit BodyRoom(BodyRooms& rooms) : rooms_(rooms) {}
  ~BodyRoom() { rooms_.give_back(client_, taken_); }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;

  // client: the same in all calls. Throws Refusal kBusy.
  void take(const std::string& client, std::size_t bytes);

 private:
  BodyRooms& rooms_;
  std::string client_;
  std::size_t taken_ = 0;
};

}  // namespace diml::server
