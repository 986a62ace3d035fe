#include <cstring>
#include <new>

#include <webp/decode.h>

#include "decoders.h"
#include "diml/error.h"

namespace diml::images {
namespace {

std::size_t little_endian(const std::uint8_t* bytes) {
  return bytes[0] | std::size_t{bytes[1]} << 8 | std::size_t{bytes[2]} << 16 |
         std::size_t{bytes[3]} << 24;
}

// The EXIF chunk, found by walking the file's chunks.
int orientation_of(Bytes bytes) {
  constexpr std::size_t kFileHeader = 12;
  constexpr std::size_t kChunkHeader = 8;
  for (std::size_t at = kFileHeader; at + kChunkHeader <= bytes.size();) {
    const std::size_t size = little_endian(&bytes[at + 4]);
    const std::size_t start = at + kChunkHeader;
    if (size > bytes.size() - start) return 1;
    if (std::memcmp(&bytes[at], "EXIF", 4) == 0) {
      // Some writers keep JPEG's EXIF header before the block.
      const bool with_header = size > 6 && std::memcmp(&bytes[start], "Exif", 4) == 0;
      return exif_orientation(
          bytes.subspan(start + (with_header ? 6 : 0), size - (with_header ? 6 : 0)));
    }
    at = start + size + size % 2;
  }
  return 1;
}

}  // namespace

Decoded decode_webp(Bytes bytes, std::size_t most_pixels) {
  int width = 0;
  int height = 0;
  if (!WebPGetInfo(bytes.data(), bytes.size(), &width, &height)) throw Error("damaged WebP");
  // libwebp allocates for the picture that check_size() has seen, up to 11 bytes a pixel: it
  // decodes no animation, and refuses a frame of another size.
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) == VP8_STATUS_OK &&
      features.has_animation != 0) {
    throw Error(ErrorKind::unsupported,
                "is an animated WebP, which cannot be read: convert it to JPEG or PNG");
  }
  const std::size_t w = static_cast<std::size_t>(width);
  const std::size_t h = static_cast<std::size_t>(height);
  check_size(w, h, most_pixels);
  Decoded decoded{{w, h, std::vector<std::uint8_t>(w * h * 3)}, orientation_of(bytes)};
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    throw Error(ErrorKind::unsupported, "WebP: libwebp is another version than this was built for");
  }
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {decoded.image.pixels.data(), 3 * width, decoded.image.pixels.size()};
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  if (status != VP8_STATUS_OK) throw Error("damaged WebP");
  return decoded;
}

}  // namespace diml::images
