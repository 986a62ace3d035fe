#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/limited_memory.h"
#include "base/refusal.h"
#include "diml/error.h"
#include "diml/image.h"
#include "images/png_file.h"
#include "images/ppm.h"

namespace diml {
namespace {

TEST(Resize, AgreesWithPillow) {
  const Image image = read_image(test::golden("rgb.png"));
  const std::vector<std::pair<std::size_t, std::size_t>> sizes = {
      {37, 29}, {16, 16}, {64, 50}, {5, 29}, {37, 7}, {1, 1}, {36, 30}, {224, 3}};
  for (const auto& [width, height] : sizes) {
    for (const auto& [prefix, interpolation] :
         {std::pair{"resized_", Interpolation::bilinear}, {"bicubic_", Interpolation::bicubic}}) {
      const std::string name =
          prefix + std::to_string(width) + "x" + std::to_string(height) + ".ppm";
      // The arithmetic is the same, so there is no difference.
      EXPECT_EQ(test::largest_difference(resize(image, width, height, interpolation),
                                         test::read_ppm(test::golden(name))),
                0)
          << name;
    }
  }
}

TEST(Resize, KeepsAConstantImageConstant) {
  const Image grey{300, 200, std::vector<std::uint8_t>(300 * 200 * 3, 137)};
  for (const Image& image : {resize(grey, 31, 77), resize(grey, 299, 201), resize(grey, 1, 1)}) {
    EXPECT_TRUE(std::all_of(image.pixels.begin(), image.pixels.end(),
                            [](std::uint8_t v) { return v == 137; }));
  }
}

TEST(ResizeShortSide, KeepsTheProportionRoundedDown) {
  const Image wide{101, 50, std::vector<std::uint8_t>(101 * 50 * 3)};
  EXPECT_EQ(resize_short_side(wide, 256).width, 517u);  // 256 * 101 / 50 = 517.12
  EXPECT_EQ(resize_short_side(wide, 256).height, 256u);
  const Image tall{50, 101, std::vector<std::uint8_t>(101 * 50 * 3)};
  EXPECT_EQ(resize_short_side(tall, 20).width, 20u);
  EXPECT_EQ(resize_short_side(tall, 20).height, 40u);
}

// Offsets as torchvision's: int(round(margin / 2)), halves to the even side.
TEST(CentreCrop, TakesTheMiddleAsPythonRoundsIt) {
  for (const auto& [extent, offset] : std::vector<std::pair<std::size_t, int>>{
           {4, 0}, {5, 0}, {6, 1}, {7, 2}, {8, 2}, {9, 2}, {11, 4}}) {
    Image image{extent, 4, std::vector<std::uint8_t>(extent * 4 * 3)};
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < extent; ++x) image.at(x, y)[0] = static_cast<std::uint8_t>(x);
    }
    EXPECT_EQ(centre_crop(image, 4).at(0, 0)[0], offset) << extent;
  }
}

TEST(CentreCrop, RefusesAnImageThatIsTooSmall) {
  EXPECT_THROW(centre_crop({10, 3, std::vector<std::uint8_t>(90)}, 4), Error);
  EXPECT_THROW(resize({}, 4, 4), Error);
  EXPECT_THROW(resize({1, 1, {1, 2, 3}}, 0, 4), Error);
}

TEST(ResizeAndCentreCrop, GivesTheSamePixelsAsResizingTheWholeImage) {
  const Image golden = read_image(test::golden("rgb.png"));
  for (const auto& [width, height] : std::vector<std::pair<std::size_t, std::size_t>>{
           {37, 29}, {29, 37}, {1, 9}, {9, 1}, {640, 427}, {131, 521}, {50, 50}, {256, 300}}) {
    const Image image = resize(golden, width, height);
    for (const auto& [short_side, size] : std::vector<std::pair<std::size_t, std::size_t>>{
             {32, 28}, {50, 50}, {256, 224}, {29, 1}, {29, 29}}) {
      for (const Interpolation one : {Interpolation::bilinear, Interpolation::bicubic}) {
        const Image whole = centre_crop(resize_short_side(image, short_side, one), size);
        EXPECT_EQ(resize_and_centre_crop(image, short_side, size, one).pixels, whole.pixels)
            << width << " x " << height << " to " << short_side << ", " << size;
      }
    }
  }
  EXPECT_THROW(resize_and_centre_crop(golden, 16, 17), Error);
  EXPECT_THROW(resize_and_centre_crop(golden, 16, 0), Error);
  EXPECT_THROW(resize_and_centre_crop({}, 16, 16), Error);
}

constexpr std::size_t kLittle = std::size_t{100} << 20;  // bytes

TEST(ResizeAndCentreCrop, ALineOfPixelsTakesTheMemoryOfItsResult) {
  if (!test::kMemoryCanBeLimited) GTEST_SKIP() << "memory cannot be limited under this sanitizer";
  const std::vector<std::uint8_t> wide =
      test::PngFile(100'000, 1, 1).add_zero_rows(1 + 12'500).bytes();
  const std::vector<std::uint8_t> tall =
      test::PngFile(1, 100'000, 1).add_zero_rows(2 * 100'000).bytes();
  EXPECT_LT(wide.size(), 100u);
  for (const std::vector<std::uint8_t>& file : {wide, tall}) {
    EXPECT_EQ(test::stopped_within(kLittle,
                                   [&] {
                                     const Image line = decode_image(file);
                                     const Image crop = resize_and_centre_crop(line, 256, 224);
                                     if (crop.pixels.size() != 224 * 224 * 3) throw Error("size");
                                   }),
              "");
  }
}

TEST(Resize, ALineOfPixelsTakesTheMemoryOfItsResult) {
  if (!test::kMemoryCanBeLimited) GTEST_SKIP() << "memory cannot be limited under this sanitizer";
  const Image tall{1, 500'000, std::vector<std::uint8_t>(1'500'000, 77)};
  EXPECT_EQ(test::stopped_within(kLittle, [&] { resize(tall, 224, 224); }), "");
}

TEST(ResizeShortSide, RefusesAResultOfMorePixelsThanAFileMayHave) {
  const Image wide{100'000, 1, std::vector<std::uint8_t>(300'000)};
  test::expect_refused([&] { resize_short_side(wide, 256); },
                       "an image of 100000 x 1 resized to a short side of 256 has 25600000 x 256 "
                       "pixels, more than the 178956970 allowed: crop it first",
                       ErrorKind::out_of_resources);
}

}  // namespace
}  // namespace diml
