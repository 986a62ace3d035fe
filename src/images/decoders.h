#pragma once

#include <span>

#include "diml/image.h"

namespace diml::images {

// What a decoder found: pixels as stored, and the EXIF orientation, 1 to 8 (1: as stored).
struct Decoded {
  Image image;
  int orientation = 1;
};

using Bytes = std::span<const std::uint8_t>;

Decoded decode_jpeg(Bytes bytes, std::size_t most_pixels);
Decoded decode_png(Bytes bytes, std::size_t most_pixels);
Decoded decode_webp(Bytes bytes, std::size_t most_pixels);

// Throws unless the image has pixels, and no more than `most_pixels`.
void check_size(std::size_t width, std::size_t height, std::size_t most_pixels);

// The orientation in a TIFF block (what EXIF is behind its header); 1 where there is none or it
// makes no sense.
int exif_orientation(Bytes tiff);

Image turned(Image image, int orientation);

}  // namespace diml::images
