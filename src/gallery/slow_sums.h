#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace diml::gallery {

// Which records of older formats were compared with their checksums already: a SHA-256 takes longer
// than matching the grid. A record that is written anew has another checksum.
class SlowSums {
 public:
  bool knows(std::int64_t id, std::uint64_t sum) const {
    const std::lock_guard lock(mutex_);
    const auto place = static_cast<std::size_t>(id);
    return place < sums_.size() && sums_[place] == sum && sum != 0;
  }
  void learn(std::int64_t id, std::uint64_t sum) {
    const std::lock_guard lock(mutex_);
    const auto place = static_cast<std::size_t>(id);
    if (place >= kMost) return;
    if (place >= sums_.size()) sums_.resize(place + 1 + place / 2);
    sums_[place] = sum;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 26;  // half a gigabyte
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> sums_;  // by id; 0: not compared
};

}  // namespace diml::gallery
