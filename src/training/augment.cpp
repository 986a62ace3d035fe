#include "augment.h"

#include <algorithm>
#include <cmath>

namespace diml::training {

Image random_resized_crop(const Image& image, std::size_t size, const AugmentParams& settings,
                          Random& random) {
  const auto width = static_cast<double>(image.width);
  const auto height = static_cast<double>(image.height);
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double area =
        width * height * random.uniform(settings.smallest_area, settings.largest_area);
    // Uniform in the logarithm: 3/4 is as likely as 4/3.
    const double ratio = std::exp(
        random.uniform(std::log(settings.smallest_ratio), std::log(settings.largest_ratio)));
    const auto w = static_cast<std::size_t>(std::lround(std::sqrt(area * ratio)));
    const auto h = static_cast<std::size_t>(std::lround(std::sqrt(area / ratio)));
    if (w == 0 || h == 0 || w > image.width || h > image.height) continue;
    const std::size_t left = random.below(image.width - w + 1);
    const std::size_t top = random.below(image.height - h + 1);
    return resize(crop(image, left, top, w, h), size, size);
  }
  // Nothing fitted: as much of the middle as the ratios allow.
  const double ratio = std::clamp(width / height, settings.smallest_ratio, settings.largest_ratio);
  const std::size_t w = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::lround(height * ratio)), 1, image.width);
  const std::size_t h = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::lround(width / ratio)), 1, image.height);
  return resize(crop(image, (image.width - w) / 2, (image.height - h) / 2, w, h), size, size);
}

void augment(const Image& image, std::size_t size, ChannelOrder channels,
             const AugmentParams& settings, Random random, std::span<std::uint8_t> planes) {
  const Image part = random_resized_crop(image, size, settings, random);
  const bool mirrored = random.uniform() < settings.flip;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t channel = channels == ChannelOrder::bgr ? 2 - c : c;
    std::uint8_t* plane = &planes[c * size * size];
    for (std::size_t y = 0; y < size; ++y) {
      const std::uint8_t* row = part.at(0, y);
      for (std::size_t x = 0; x < size; ++x) {
        plane[y * size + x] = row[3 * (mirrored ? size - 1 - x : x) + channel];
      }
    }
  }
}

}  // namespace diml::training
