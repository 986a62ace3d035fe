// From a picture to the pixels that a network sees.

#include <gtest/gtest.h>

#include "engine/crop_planes.h"
#include "engine/means_embedder.h"

namespace diml::test {
namespace {

TEST(Preprocess, SubtractsAndDividesInTheOrderOfTheChannels) {
  const Image image{2, 2, {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}};
  Preprocessing how = {.resize = 2,
                       .crop = 2,
                       .channels = ChannelOrder::rgb,
                       .mean = {1.0F, 2.0F, 3.0F},
                       .deviation = {1.0F, 2.0F, 4.0F}};
  Floats pixels(12);
  preprocess(image, how, pixels);
  EXPECT_EQ(pixels, (Floats{9, 39, 69, 99, 9, 24, 39, 54, 6.75, 14.25, 21.75, 29.25}));
  how.channels = ChannelOrder::bgr;  // the mean of the first channel is now that of blue
  preprocess(image, how, pixels);
  EXPECT_EQ(pixels, (Floats{29, 59, 89, 119, 9, 24, 39, 54, 1.75, 9.25, 16.75, 24.25}));
}

TEST(Preprocess, TakesTheMiddleOfTheShortSide) {
  Image wide{6, 4, std::vector<std::uint8_t>(72)};
  for (std::size_t p = 0; p < 24; ++p) wide.pixels[3 * p] = static_cast<std::uint8_t>(p);
  Preprocessing how = kPlain;
  how.resize = 4;
  how.crop = 2;
  Floats pixels(12);
  preprocess(wide, how, pixels);
  EXPECT_EQ(Floats(pixels.begin(), pixels.begin() + 4), (Floats{8, 9, 14, 15}));
}

TEST(Preprocess, MakesEveryShapeTheSameSize) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 300}, {300, 1}, {17, 16}, {500, 333}}) {
    const Image image{static_cast<std::size_t>(width), static_cast<std::size_t>(height),
                      std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height), 7)};
    Floats pixels(3 * 16 * 16);
    preprocess(image, kPlain, pixels);
    EXPECT_EQ(pixels, Floats(pixels.size(), 7.0F)) << width << " x " << height;
  }
}

}  // namespace
}  // namespace diml::test
