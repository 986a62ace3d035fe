#pragma once

#include <cstring>
#include <string>

#include "decoders.h"
#include "diml/error.h"

namespace diml::images {

// Little-endian numbers and blocks of a file, from its beginning to its end; throws where the file
// ends early.
class ByteReader {
 public:
  ByteReader(Bytes bytes, const char* format) : bytes_(bytes), format_(format) {}

  std::size_t left() const { return bytes_.size() - position_; }
  std::size_t position() const { return position_; }

  Bytes block(std::size_t count) {
    if (count > left()) fail("it ends early");
    const Bytes found = bytes_.subspan(position_, count);
    position_ += count;
    return found;
  }
  void skip(std::size_t count) { (void)block(count); }
  void go_to(std::size_t position) {
    if (position > bytes_.size()) fail("it ends early");
    position_ = position;
  }

  std::uint32_t byte() { return block(1)[0]; }
  std::uint32_t two() {
    const Bytes found = block(2);
    return found[0] | std::uint32_t{found[1]} << 8;
  }
  std::uint32_t four() {
    const std::uint32_t low = two();
    return low | two() << 16;
  }

  [[noreturn]] void fail(const char* why) const {
    throw Error(ErrorKind::damaged, std::string("damaged ") + format_ + ": " + why);
  }

 private:
  Bytes bytes_;
  const char* format_;
  std::size_t position_ = 0;
};

}  // namespace diml::images
