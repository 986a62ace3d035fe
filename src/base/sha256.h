#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace diml {

// SHA-256 (FIPS 180-4) of bytes that are added in pieces.
class Sha256 {
 public:
  Sha256();

  void update(std::span<const std::uint8_t> bytes);
  std::string hex() const;  // of the bytes so far, 64 lower-case letters and digits

 private:
  void take_block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> waiting_{};  // bytes that do not fill a block yet
  std::uint64_t length_ = 0;                // in bytes
};

// Throws with the file's name.
std::string sha256_of_file(const std::string& path);

}  // namespace diml
