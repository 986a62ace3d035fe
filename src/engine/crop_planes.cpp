#include "engine/crop_planes.h"

#include <vector>

namespace diml {

void crop_planes(const Image& image, const Preprocessing& preprocessing,
                 std::span<std::uint8_t> planes) {
  const std::size_t size = preprocessing.crop;
  const Image crop =
      resize_and_centre_crop(image, preprocessing.resize, size, preprocessing.interpolation);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t channel = preprocessing.channels == ChannelOrder::bgr ? 2 - c : c;
    std::uint8_t* plane = &planes[c * size * size];
    for (std::size_t p = 0; p < size * size; ++p) plane[p] = crop.pixels[3 * p + channel];
  }
}

void preprocess(const Image& image, const Preprocessing& preprocessing, std::span<float> pixels) {
  const std::size_t places = preprocessing.crop * preprocessing.crop;
  std::vector<std::uint8_t> planes(3 * places);
  crop_planes(image, preprocessing, planes);
  for (std::size_t c = 0; c < 3; ++c) {
    const float mean = preprocessing.mean[c];
    const float scale = 1.0F / preprocessing.deviation[c];
    for (std::size_t p = c * places; p < (c + 1) * places; ++p) {
      pixels[p] = (static_cast<float>(planes[p]) - mean) * scale;
    }
  }
}

}  // namespace diml
