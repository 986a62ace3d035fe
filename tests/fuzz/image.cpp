#include "fuzz/fuzz_target.h"

#include "diml/image.h"

namespace {

void decode(std::span<const std::uint8_t> bytes) {
  diml::decode_image(bytes, {.orientation = diml::Orientation::exif, .most_pixels = 1 << 16});
}

}  // namespace

DIML_FUZZ_TARGET(decode)
