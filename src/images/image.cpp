#include "diml/image.h"

#include <cstring>
#include <string_view>

#include "base/image_names.h"
#include "base/input_file.h"
#include "decoders.h"
#include "diml/error.h"

namespace diml {
namespace {

using images::Bytes;
using images::Decoded;

struct Decoder {
  std::string_view format;
  Decoded (*decode)(Bytes bytes, std::size_t most_pixels);
};

// One for each format that the list of formats calls readable.
constexpr Decoder kDecoders[] = {
    {"JPEG", images::decode_jpeg}, {"PNG", images::decode_png},
    {"GIF", images::decode_gif},   {"BMP", images::decode_bmp},
#if DIML_HAS_WEBP
    {"WebP", images::decode_webp},
#endif
#if DIML_HAS_TIFF
    {"TIFF", images::decode_tiff},
#endif
#if DIML_HAS_HEIF
    {"HEIC", images::decode_heif}, {"AVIF", images::decode_heif},
#endif
};

Decoded decode(Bytes bytes, std::size_t most_pixels) {
  if (bytes.empty()) throw Error("is empty");
  const ImageFormat* format = images::format_of(bytes);
  if (format == nullptr)
    throw Error(ErrorKind::unsupported, "is not a " + readable_image_formats() + " image");
  for (const Decoder& decoder : kDecoders) {
    if (decoder.format == format->name) return decoder.decode(bytes, most_pixels);
  }
  const std::string is(format->a_name);
  if (!format->package.empty()) {
    throw Error(ErrorKind::unsupported, "is " + is + ", which this build cannot read: install " +
                                            std::string(format->package) + " and build again");
  }
  throw Error(ErrorKind::unsupported,
              "is " + is + ", which cannot be read: convert it to JPEG or PNG");
}

// "is a GIF, named .jpg: ": what a file is that cannot be read, where its name says otherwise and
// the reason does not tell.
std::string disguise_of(Bytes bytes, const std::string& path, const std::string& why) {
  const ImageFormat* named = image_format_named(path);
  const ImageFormat* found = images::format_of(bytes);
  if (named == nullptr || found == nullptr || named == found) return "";
  const std::string is = "is " + std::string(found->a_name);
  if (why.starts_with(is)) return "";
  return is + ", named " + lower_case_ending(path) + ": ";
}

}  // namespace

// The most that a sound file takes is 15 bytes a pixel: a TIFF of one strip of four channels of 16
// bits (8), its raster (4) and the result (3). A progressive JPEG takes up to 11, others less.
std::size_t images::most_memory(std::size_t width, std::size_t height, Bytes file) {
  constexpr std::size_t kBytesOfAPixel = 16;
  constexpr std::size_t kSlack = std::size_t{32} << 20;  // tables, buffers, states of decompressors
  return width * height * kBytesOfAPixel + file.size() + kSlack;
}

void images::refuse_memory(const std::string& name) {
  throw Error(
      ErrorKind::out_of_resources,
      name + ": decoding takes more memory than a picture of its size needs: save it again");
}

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
    throw with_context(error, path + ": " + disguise_of(bytes, path, error.what()));
  }
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
