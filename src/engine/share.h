#pragma once

#include <cstdint>
#include <string_view>

#include "engine/process_group.h"

namespace diml {

// The part of a list of images that is this process's own, where several fill one gallery, each by
// itself (process_place()). It depends on the path alone, so that every process knows its part
// whatever the others do, and an image that is listed twice has one owner.
class Share {
 public:
  Share() = default;  // everything
  explicit Share(ProcessPlace place) : place_(place) {}

  bool has(std::string_view path) const {
    std::uint64_t sum = 14695981039346656037U;  // FNV-1a
    for (const char c : path) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211U;
    // Its low bits depend on the low bits of the letters alone.
    return place_.size == 1 || (sum ^ sum >> 32) % place_.size == place_.rank;
  }
  std::size_t processes() const { return place_.size; }

 private:
  ProcessPlace place_;
};

}  // namespace diml
