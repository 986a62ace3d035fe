#pragma once

#include <array>

#include "byte_reader.h"

namespace diml::images {

// A bitmap's headers. Rows are stored from the bottom, except where `from_top`.
struct BmpHeader {
  std::size_t width = 0;
  std::size_t height = 0;
  bool from_top = false;
  std::uint32_t bits = 0;  // of a pixel
  std::uint32_t compression = 0;
  std::uint32_t colours = 0;            // of the palette
  std::uint32_t bytes_of_a_colour = 4;  // in the palette: blue, green, red and mostly one more
  std::uint32_t masks[3] = {0, 0, 0};   // red, green, blue; where pixels have 16 or 32 bits
};

constexpr std::uint32_t kBmpPlain = 0;
constexpr std::uint32_t kBmpRle8 = 1;
constexpr std::uint32_t kBmpRle4 = 2;
constexpr std::uint32_t kBmpMasks = 3;
constexpr std::uint32_t kBmpMasksAndAlpha = 6;

// The palette's indices [height, width], rows in stored order. Runs that the file leaves out keep
// index 0.
std::vector<std::uint8_t> bmp_run_lengths(ByteReader& file, const BmpHeader& header);

}  // namespace diml::images
