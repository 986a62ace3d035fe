#include "diml/image.h"

#include <cstring>
#include <string_view>

#include "decoders.h"
#include "diml/error.h"
#include "diml/input_file.h"

namespace diml {
namespace {

using images::Bytes;
using images::Decoded;

bool starts_with(Bytes bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() &&
         std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

Decoded decode(Bytes bytes, std::size_t most_pixels) {
  if (bytes.empty()) throw Error("is empty");
  if (starts_with(bytes, "\xff\xd8\xff")) return images::decode_jpeg(bytes, most_pixels);
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n")) return images::decode_png(bytes, most_pixels);
  if (starts_with(bytes, "RIFF") && starts_with(bytes, "WEBP", 8)) {
#if DIML_HAS_WEBP
    return images::decode_webp(bytes, most_pixels);
#else
    throw Error(ErrorKind::unsupported,
                "is WebP, which this build cannot read: install libwebp-dev and build again");
#endif
  }
  throw Error(ErrorKind::unsupported, "is no JPEG, PNG or WebP image");
}

}  // namespace

void images::check_size(std::size_t width, std::size_t height, std::size_t most_pixels) {
  if (width == 0 || height == 0) throw Error("has no pixels");
  if (height > most_pixels / width) {
    throw Error(ErrorKind::out_of_resources,
                "has " + std::to_string(width) + " x " + std::to_string(height) +
                    " pixels, more than the " + std::to_string(most_pixels) +
                    " allowed: make it smaller");
  }
}

Image decode_image(std::span<const std::uint8_t> bytes, const DecodeParams& params) {
  Decoded decoded = decode(bytes, params.most_pixels);
  if (params.orientation == Orientation::as_stored) return std::move(decoded.image);
  return images::turned(std::move(decoded.image), decoded.orientation);
}

Image read_image(const std::string& path, const DecodeParams& params) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  try {
    return decode_image(bytes, params);
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
}

Image centre_crop(const Image& image, std::size_t size) {
  if (image.width < size || image.height < size) {
    throw Error("an image of " + std::to_string(image.width) + " x " +
                std::to_string(image.height) + " has no middle of " + std::to_string(size) + " x " +
                std::to_string(size) + ": resize it first");
  }
  // Half a pixel goes to the even side, as Python rounds.
  const auto margin = [size](std::size_t extent) {
    const std::size_t twice = extent - size;
    return twice % 4 == 3 ? twice / 2 + 1 : twice / 2;
  };
  return crop(image, margin(image.width), margin(image.height), size, size);
}

Image crop(const Image& image, std::size_t left, std::size_t top, std::size_t width,
           std::size_t height) {
  if (width == 0 || height == 0 || left + width > image.width || top + height > image.height) {
    throw Error("a crop must lie within its image");
  }
  Image result{width, height, std::vector<std::uint8_t>(width * height * 3)};
  for (std::size_t y = 0; y < height; ++y)
    std::memcpy(result.at(0, y), image.at(left, top + y), width * 3);
  return result;
}

}  // namespace diml
