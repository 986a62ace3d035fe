#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace diml {

// 8-bit RGB, rows from the top, no padding.
struct Image {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]

  const std::uint8_t* at(std::size_t x, std::size_t y) const {
    return &pixels[(y * width + x) * 3];
  }
  std::uint8_t* at(std::size_t x, std::size_t y) { return &pixels[(y * width + x) * 3]; }
};

enum class Orientation : std::uint8_t {
  as_stored,  // benchmark data sets: their published numbers ignore the tag
  exif,       // photos of a user: rotated the way the camera was held
};

struct DecodeParams {
  Orientation orientation = Orientation::as_stored;
  // 512 MiB of RGB; a larger image is refused before it is decoded.
  std::size_t most_pixels = 178'956'970;
};

// JPEG, PNG, GIF (its first frame) or BMP, and where the build has their libraries WebP, TIFF (its
// first page), HEIC and AVIF; detected by content. Grey, palette, 16-bit and CMYK become RGB; alpha
// is dropped, as Python programs do. Throws on other formats, which it names, and on corrupt,
// truncated or too large data.
Image decode_image(std::span<const std::uint8_t> bytes, const DecodeParams& params = {});

// The same from a file; errors begin with its name, and say so where its content is of another
// format than its name.
Image read_image(const std::string& path, const DecodeParams& params = {});

// Between pixels: a triangle, or the cubic curve with a = -0.5, which most transformers were
// trained with.
enum class Interpolation : std::uint8_t { bilinear, bicubic };

// Antialiased: every source pixel counts, however much smaller the result. Same arithmetic as
// Pillow's.
Image resize(const Image& image, std::size_t width, std::size_t height,
             Interpolation interpolation = Interpolation::bilinear);

// Resized so that the short side has `size` pixels; the other side in proportion, rounded down.
// Throws where the result would have more pixels than DecodeParams allows.
Image resize_short_side(const Image& image, std::size_t size,
                        Interpolation interpolation = Interpolation::bilinear);

// `size` x `size` from the middle. The image must be at least that large.
Image centre_crop(const Image& image, std::size_t size);

// centre_crop(resize_short_side(image, short_side), size), to the bit. The pixels around the middle
// are never made: an image of any proportions takes the memory of its result.
Image resize_and_centre_crop(const Image& image, std::size_t short_side, std::size_t size,
                             Interpolation interpolation = Interpolation::bilinear);

// The part of width x height pixels whose upper left corner is (left, top).
Image crop(const Image& image, std::size_t left, std::size_t top, std::size_t width,
           std::size_t height);

// quality: 1 to 100.
std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality);

}  // namespace diml
