#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace diml::explained {

// CRC-32 of a PNG chunk (its type and its data).
inline std::uint32_t png_checksum(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

// The PNG with its resolution (chunk pHYs): programs that place it, and journals that check it,
// read the size on paper from it. Cairo writes none.
inline std::string with_density(std::string png, double dots_per_inch) {
  constexpr std::size_t kHeader = 8 + 4 + 4 + 13 + 4;  // signature and the chunk IHDR
  const auto big_endian = [](std::uint32_t value) {
    std::string bytes;
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      bytes += static_cast<char>((value >> shift) & 0xffU);
    }
    return bytes;
  };
  const auto per_metre = static_cast<std::uint32_t>(std::lround(dots_per_inch / 0.0254));
  const std::string chunk = "pHYs" + big_endian(per_metre) + big_endian(per_metre) + '\1';
  png.insert(kHeader, big_endian(9) + chunk + big_endian(png_checksum(chunk)));
  return png;
}

}  // namespace diml::explained
