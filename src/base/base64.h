#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diml {

// For pictures embedded in pages, and bytes in JSON.
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

// The bytes of such a text; none where it is anything else.
inline std::optional<std::string> bytes_of_base64(std::string_view text) {
  const auto value_of = [](char letter) -> int {
    if (letter >= 'A' && letter <= 'Z') return letter - 'A';
    if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9') return letter - '0' + 52;
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
  };
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool is_last = at + 4 == text.size();
    const std::size_t padding = !is_last ? 0
                                : text[at + 2] == '='
                                    ? 2
                                    : static_cast<std::size_t>(text[at + 3] == '=');
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const int value = k < 4 - padding ? value_of(text[at + k]) : text[at + k] == '=' ? 0 : -1;
      if (value < 0) return std::nullopt;
      three = three << 6 | static_cast<std::uint32_t>(value);
    }
    for (std::size_t k = 0; k < 3 - padding; ++k) {
      bytes += static_cast<char>(three >> (16 - 8 * k) & 0xffU);
    }
  }
  return bytes;
}

}  // namespace diml
