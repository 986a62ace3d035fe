#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "diml/embedder.h"

// An embedder whose grids can be worked out by hand, and pictures for it.

namespace diml::test {

using Floats = std::vector<float>;

inline Image random_image(std::size_t width, std::size_t height, std::uint64_t seed) {
  Image image{width, height, std::vector<std::uint8_t>(width * height * 3)};
  Random random(seed);
  // Blocks, so that JPEG and smaller sizes keep something of them.
  for (std::size_t y = 0; y < height; y += 8) {
    for (std::size_t x = 0; x < width; x += 8) {
      for (std::size_t c = 0; c < 3; ++c) {
        const auto level = static_cast<std::uint8_t>(random.next() % 256);
        for (std::size_t j = y; j < std::min(y + 8, height); ++j) {
          for (std::size_t i = x; i < std::min(x + 8, width); ++i) image.at(i, j)[c] = level;
        }
      }
    }
  }
  return image;
}

inline std::vector<Image> random_images(std::size_t count) {
  std::vector<Image> images;
  for (std::size_t i = 0; i < count; ++i) images.push_back(random_image(40 + i, 60 - i % 9, i));
  return images;
}

// Means of squares of `kSquare` pixels, and a fourth channel that is 1: what an embedder makes of
// it can be worked out by hand.
constexpr std::size_t kSquare = 4;
class Means : public Network {
 public:
  const char* name() const override { return "means"; }
  MapShape output_shape(std::size_t height, std::size_t width) override {
    return {4, height / kSquare, width / kSquare};
  }
  void forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
               std::size_t width, std::span<float> maps) override {
    batches.insert(batch);
    const MapShape shape = output_shape(height, width);
    ASSERT_EQ(pixels.size(), batch * 3 * height * width);
    ASSERT_EQ(maps.size(), batch * shape.count());
    std::fill(maps.begin(), maps.end(), 0.0F);
    for (std::size_t p = 0; p < pixels.size(); ++p) {
      const std::size_t x = p % width;
      const std::size_t y = p / width % height;
      const std::size_t c = p / width / height % 3;
      const std::size_t place = (y / kSquare) * shape.width + x / kSquare;
      const std::size_t image = p / (3 * height * width);
      maps[image * shape.count() + place * 4 + c] += pixels[p] / (kSquare * kSquare);
      maps[image * shape.count() + place * 4 + 3] = last_channel;
    }
  }

  bool same_bits(std::size_t few, std::size_t many, std::size_t height,
                 std::size_t width) override {
    return promises || Network::same_bits(few, many, height, width);
  }

  bool promises = false;          // that a map is the same in any batch
  std::set<std::size_t> batches;  // requested sizes
  float last_channel = 1.0F;
};

inline const Preprocessing kPlain = {.resize = 16,
                                     .crop = 16,
                                     .channels = ChannelOrder::rgb,
                                     .mean = {0.0F, 0.0F, 0.0F},
                                     .deviation = {1.0F, 1.0F, 1.0F}};

inline Embedder means_embedder(EmbeddingParams params = {}) {
  return {std::make_unique<Means>(), kPlain, params};
}

struct Embedded {
  Floats cells;
  Floats globals;
  bool operator==(const Embedded&) const = default;
};

inline Embedded embedded(Embedder& embedder, std::span<const Image> images) {
  Embedded result{Floats(images.size() * embedder.cells_per_grid() * embedder.dim()),
                  Floats(images.size() * embedder.dim())};
  embedder.embed(images, result.cells, result.globals);
  return result;
}

}  // namespace diml::test
