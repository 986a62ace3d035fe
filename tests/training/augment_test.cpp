#include "augment.h"

#include <cmath>

#include <gtest/gtest.h>

namespace diml::training {
namespace {

constexpr std::size_t kSize = 64;

// Red encodes the column and green the row, so that a crop shows its position.
Image ramps(std::size_t width, std::size_t height) {
  Image image{width, height, std::vector<std::uint8_t>(width * height * 3)};
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      image.at(x, y)[0] = static_cast<std::uint8_t>(x);
      image.at(x, y)[1] = static_cast<std::uint8_t>(y);
      image.at(x, y)[2] = 200;
    }
  }
  return image;
}

struct Span {
  double begin;
  double length;
};

// Of a ramp that was resized to kSize: value i is begin + (i + 0.5) * length / kSize - 0.5. Near
// the ends the filter reaches beyond them.
Span span_of(double near, std::size_t first, double far, std::size_t last) {
  const double step = (far - near) / static_cast<double>(last - first);
  return {near + 0.5 - (static_cast<double>(first) + 0.5) * step, step * kSize};
}

constexpr std::size_t kNear = 4;
constexpr std::size_t kFar = kSize - 5;
// Two values, each rounded to half a level, told over 55 of 64 pixels.
constexpr double kRounding = 1.7;

struct Part {
  Span x;
  Span y;
};
Part part_of(const Image& cut) {
  return {span_of(cut.at(kNear, 9)[0], kNear, cut.at(kFar, 9)[0], kFar),
          span_of(cut.at(9, kNear)[1], kNear, cut.at(9, kFar)[1], kFar)};
}

TEST(RandomResizedCrop, LiesInsideWithAreaAndRatioInTheirRanges) {
  const Image image = ramps(240, 180);
  const training::AugmentParams settings;
  double smallest = 1.0;
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Image cut = random_resized_crop(image, kSize, settings, random);
    ASSERT_EQ(cut.width, kSize);
    ASSERT_EQ(cut.height, kSize);
    EXPECT_EQ(cut.at(5, 5)[2], 200);
    const auto [x, y] = part_of(cut);
    EXPECT_GE(x.begin, -kRounding);
    EXPECT_GE(y.begin, -kRounding);
    EXPECT_LE(x.begin + x.length, 240 + kRounding);
    EXPECT_LE(y.begin + y.length, 180 + kRounding);
    const double area = x.length * y.length;
    const double rounding = kRounding * (x.length + y.length);
    EXPECT_GE(area + rounding, settings.smallest_area * 240 * 180);
    EXPECT_LE(area - rounding, settings.largest_area * 240 * 180);
    EXPECT_GE((x.length + kRounding) / (y.length - kRounding), settings.smallest_ratio);
    EXPECT_LE((x.length - kRounding) / (y.length + kRounding), settings.largest_ratio);
    smallest = std::min(smallest, area / (240 * 180));
    largest = std::max(largest, area / (240 * 180));
  }
  EXPECT_LT(smallest, 0.12);
  EXPECT_GT(largest, 0.85);
}

TEST(RandomResizedCrop, TakesTheMiddleWhereNothingFits) {
  training::AugmentParams settings;
  settings.smallest_area = settings.largest_area = 1.0;
  settings.smallest_ratio = settings.largest_ratio = 1.0;
  Random random(1);
  const Part part = part_of(random_resized_crop(ramps(60, 180), kSize, settings, random));
  EXPECT_NEAR(part.x.begin, 0, kRounding);
  EXPECT_NEAR(part.x.length, 60, kRounding);
  EXPECT_NEAR(part.y.begin, 60, kRounding);
  EXPECT_NEAR(part.y.length, 60, kRounding);
}

TEST(RandomResizedCrop, TheSmallestImagesWillDo) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 200}, {200, 1}, {2, 3}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const Image image = ramps(static_cast<std::size_t>(width), static_cast<std::size_t>(height));
      EXPECT_EQ(random_resized_crop(image, 8, {}, random).pixels.size(), 8u * 8u * 3u);
    }
  }
}

std::vector<std::uint8_t> augmented(const Image& image, const training::AugmentParams& settings,
                                    std::uint64_t seed, ChannelOrder order = ChannelOrder::rgb) {
  std::vector<std::uint8_t> planes(3 * kSize * kSize);
  augment(image, kSize, order, settings, Random(seed), planes);
  return planes;
}

TEST(Augment, IsTheSameForASeed) {
  const Image image = ramps(100, 80);
  EXPECT_EQ(augmented(image, {}, 5), augmented(image, {}, 5));
  EXPECT_NE(augmented(image, {}, 5), augmented(image, {}, 6));
}

TEST(Augment, MirrorsTheShareThatIsAsked) {
  const Image image = ramps(kSize, kSize);
  training::AugmentParams whole;
  whole.smallest_area = whole.smallest_ratio = whole.largest_ratio = 1.0;
  for (const double share : {0.0, 0.25, 0.5, 1.0}) {
    whole.flip = share;
    constexpr int kTimes = 2000;
    int mirrored = 0;
    for (std::uint64_t seed = 0; seed < kTimes; ++seed) {
      const std::vector<std::uint8_t> planes = augmented(image, whole, seed);
      const bool is_mirrored = planes[0] > planes[kSize - 1];
      mirrored += is_mirrored ? 1 : 0;
      // Whole, and each row from end to end.
      EXPECT_EQ(planes[0], is_mirrored ? kSize - 1 : 0);
      EXPECT_EQ(planes[kSize * kSize + 3 * kSize], 3);
    }
    // Five deviations.
    EXPECT_NEAR(mirrored / double{kTimes}, share, 5.0 * std::sqrt(share * (1.0 - share) / kTimes));
  }
}

TEST(Augment, ChannelsAreInTheNetworksOrder) {
  const Image image = ramps(100, 80);
  const std::vector<std::uint8_t> rgb = augmented(image, {}, 3);
  const std::vector<std::uint8_t> bgr = augmented(image, {}, 3, ChannelOrder::bgr);
  constexpr std::size_t kPlane = kSize * kSize;
  for (std::size_t p = 0; p < kPlane; ++p) {
    EXPECT_EQ(rgb[p], bgr[2 * kPlane + p]);
    EXPECT_EQ(rgb[kPlane + p], bgr[kPlane + p]);
    EXPECT_EQ(rgb[2 * kPlane + p], bgr[p]);
  }
}

}  // namespace
}  // namespace diml::training
