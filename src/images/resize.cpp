#include <algorithm>
#include <cmath>

#include "diml/error.h"
#include "diml/image.h"

namespace diml {
namespace {

// 8-bit pixels times weights in fixed point: the same numbers on every machine, and Pillow's.
constexpr int kWeightBits = 22;

// What one result pixel takes: `weights.size() / results` source pixels from `first` on.
struct Taps {
  std::size_t most = 0;
  std::vector<std::size_t> first;
  std::vector<std::size_t> count;
  std::vector<std::int32_t> weights;  // [results, most]
};

// A triangle as wide as one source pixel, or as one result pixel where that is wider: then it is a
// low-pass filter.
Taps triangle_taps(std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);
  Taps taps;
  taps.most = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(to * taps.most);
  std::vector<double> weights(taps.most);
  for (std::size_t k = 0; k < to; ++k) {
    const double centre = (static_cast<double>(k) + 0.5) * scale;
    const double low = std::floor(centre - support + 0.5);
    const double high = std::floor(centre + support + 0.5);
    const std::size_t first = static_cast<std::size_t>(std::max(low, 0.0));
    const std::size_t last = std::min(static_cast<std::size_t>(std::max(high, 0.0)), from);
    double sum = 0.0;
    for (std::size_t i = first; i < last; ++i) {
      const double distance = std::abs((static_cast<double>(i) - centre + 0.5) / support);
      weights[i - first] = std::max(0.0, 1.0 - distance);
      sum += weights[i - first];
    }
    for (std::size_t i = 0; i < last - first; ++i) {
      taps.weights[k * taps.most + i] =
          static_cast<std::int32_t>(std::floor(weights[i] / sum * (1 << kWeightBits) + 0.5));
    }
    taps.first.push_back(first);
    taps.count.push_back(last - first);
  }
  return taps;
}

std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

Image resize_width(const Image& image, std::size_t width) {
  const Taps taps = triangle_taps(image.width, width);
  Image result{width, image.height, std::vector<std::uint8_t>(width * image.height * 3)};
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      std::int32_t sums[3] = {kHalf, kHalf, kHalf};
      const std::uint8_t* from = image.at(taps.first[x], y);
      for (std::size_t k = 0; k < taps.count[x]; ++k) {
        const std::int32_t weight = taps.weights[x * taps.most + k];
        for (std::size_t c = 0; c < 3; ++c) sums[c] += from[3 * k + c] * weight;
      }
      for (std::size_t c = 0; c < 3; ++c) result.at(x, y)[c] = to_pixel(sums[c]);
    }
  }
  return result;
}

Image resize_height(const Image& image, std::size_t height) {
  const Taps taps = triangle_taps(image.height, height);
  const std::size_t row = image.width * 3;
  Image result{image.width, height, std::vector<std::uint8_t>(row * height)};
  std::vector<std::int32_t> sums(row);
  for (std::size_t y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (std::size_t k = 0; k < taps.count[y]; ++k) {
      const std::int32_t weight = taps.weights[y * taps.most + k];
      const std::uint8_t* from = image.at(0, taps.first[y] + k);
      for (std::size_t i = 0; i < row; ++i) sums[i] += from[i] * weight;
    }
    std::transform(sums.begin(), sums.end(), result.at(0, y), to_pixel);
  }
  return result;
}

}  // namespace

Image resize(const Image& image, std::size_t width, std::size_t height) {
  if (width == 0 || height == 0 || image.pixels.empty()) {
    throw Error("an image cannot be resized to or from no pixels");
  }
  const Image wide = image.width == width ? image : resize_width(image, width);
  return wide.height == height ? wide : resize_height(wide, height);
}

Image resize_short_side(const Image& image, std::size_t size) {
  if (image.width == 0 || image.height == 0)
    throw Error("an image without pixels cannot be resized");
  return image.width <= image.height ? resize(image, size, size * image.height / image.width)
                                     : resize(image, size * image.width / image.height, size);
}

}  // namespace diml
