#include <algorithm>
#include <array>
#include <cstring>

#include "decoders.h"

namespace diml::images {

int exif_orientation(Bytes tiff) {
  constexpr std::size_t kOrientationTag = 0x0112;
  constexpr std::size_t kEntryBytes = 12;
  if (tiff.size() < 8) return 1;
  const bool big = tiff[0] == 'M' && tiff[1] == 'M';
  if (!big && !(tiff[0] == 'I' && tiff[1] == 'I')) return 1;
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::size_t value = 0;
    for (std::size_t k = 0; k < bytes; ++k) {
      value |= std::size_t{tiff[at + k]} << 8 * (big ? bytes - 1 - k : k);
    }
    return value;
  };
  const std::size_t directory = number(4, 4);
  if (directory > tiff.size() - 2) return 1;
  const std::size_t entries = number(directory, 2);
  for (std::size_t e = 0; e < entries; ++e) {
    const std::size_t at = directory + 2 + e * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) return 1;
    if (number(at, 2) != kOrientationTag) continue;
    const std::size_t value = number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image turned(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  // From 5 on width and height are swapped. Each value says where the stored pixel (0, 0) is shown.
  const bool swapped = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Image result{swapped ? image.height : image.width, swapped ? image.width : image.height,
               std::vector<std::uint8_t>(image.pixels.size())};
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      std::size_t to_x = swapped ? y : x;
      std::size_t to_y = swapped ? x : y;
      if (from_right) to_x = result.width - 1 - to_x;
      if (from_bottom) to_y = result.height - 1 - to_y;
      std::memcpy(result.at(to_x, to_y), image.at(x, y), 3);
    }
  }
  return result;
}

}  // namespace diml::images
