#pragma once

#include <span>
#include <string>

#include "base/image_names.h"
#include "diml/image.h"

namespace diml::images {

// The result of a decoder: pixels as stored, and the EXIF orientation, 1 to 8 (1: as stored).
struct Decoded {
  Image image;
  int orientation = 1;
};

using Bytes = std::span<const std::uint8_t>;

// What a file is by its content; null where nothing known begins like it.
const ImageFormat* format_of(Bytes bytes);

Decoded decode_jpeg(Bytes bytes, std::size_t most_pixels);
Decoded decode_png(Bytes bytes, std::size_t most_pixels);
Decoded decode_webp(Bytes bytes, std::size_t most_pixels);
Decoded decode_gif(Bytes bytes, std::size_t most_pixels);  // the first frame
Decoded decode_bmp(Bytes bytes, std::size_t most_pixels);
Decoded decode_tiff(Bytes bytes, std::size_t most_pixels);  // the first page
Decoded decode_heif(Bytes bytes, std::size_t most_pixels);  // HEIC and AVIF: the primary picture

// What a decoder may allocate for a picture in all, its result included. Each decoder gives it to
// its library in the library's own way. Until the size is known: that of a picture of 0 pixels.
std::size_t most_memory(std::size_t width, std::size_t height, Bytes file);

// Of a library that has reached it. name: of the format.
[[noreturn]] void refuse_memory(const std::string& name);

// Throws unless the image has pixels, and no more than `most_pixels`.
void check_size(std::size_t width, std::size_t height, std::size_t most_pixels);

// The orientation in a TIFF block (EXIF without its header); 1 if there is none or it is invalid.
int exif_orientation(Bytes tiff);

Image turned(Image image, int orientation);

}  // namespace diml::images
