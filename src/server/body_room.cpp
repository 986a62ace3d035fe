#include "body_room.h"

#include "refusal.h"

namespace diml::server {

void BodyRooms::take(const std::string& client, std::size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  std::size_t& its = taken_[client];
  const std::size_t left = most_ - total_;
  if (bytes > left || its + bytes > 2 * left) {
    if (its == 0) taken_.erase(client);
    throw Refusal(kBusy, "too many large requests at once: try again in a moment");
  }
  its += bytes;
  total_ += bytes;
}

void BodyRooms::give_back(const std::string& client, std::size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  total_ -= bytes;
  const auto its = taken_.find(client);
  if ((its->second -= bytes) == 0) taken_.erase(its);
}

std::size_t BodyRooms::taken() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

void BodyRoom::take(const std::string& client, std::size_t bytes) {
  rooms_.take(client, bytes);
  if (taken_ == 0) client_ = client;
  taken_ += bytes;
}

}  // namespace diml::server
