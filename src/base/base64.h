#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace diml {

// For pictures embedded in pages.
inline std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr const char* kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? bytes[i + k] : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kLetters[(three >> (18 - 6 * k)) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace diml
