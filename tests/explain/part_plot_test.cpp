#include "explain/part_plot.h"

#include <gtest/gtest.h>

#include "well_formed.h"

namespace diml {
namespace {

std::vector<PartMethod> methods() {
  return {{"transport, cross_correlation", 100, 0.32, 0.86, 0.01, 0.01},
          {"nearest cosine", 100, 0.29, 0.84, 0.01, 0.01}};
}

std::vector<Curve> curves() {
  return {{KeptCells::strongest, {{0.5, 0.8, 0.9, 0.8}, {1.0, 0.7, 0.8, 0.7}}, 0.7, 0.8},
          {KeptCells::weakest, {{0.5, 0.5, 0.3, 0.2}, {1.0, 0.7, 0.8, 0.7}}, 0.6, 0.5}};
}

TEST(PartPlot, IsAWellFormedPictureWithAndWithoutCurves) {
  const std::string with = draw_part_truth(methods(), curves(), "a <title>", PictureFormat::svg);
  const std::string without = draw_part_truth(methods(), {}, "a <title>", PictureFormat::svg);
  EXPECT_EQ(test::fault_of_xml(with), "");
  EXPECT_EQ(test::fault_of_xml(without), "");
  EXPECT_GT(with.size(), without.size());
}

TEST(PartPlot, IsWiderWithCurves) {
  const auto width = [](const std::vector<Curve>& some) {
    const std::string png = draw_part_truth(methods(), some, "title", PictureFormat::png);
    return decode_image({reinterpret_cast<const std::uint8_t*>(png.data()), png.size()}).width;
  };
  EXPECT_GT(width(curves()), width({}) + 1000);
}

TEST(PartPlot, CurvesStayWithinTheirCharts) {
  const std::string png = draw_part_truth(methods(), curves(), "title", PictureFormat::png);
  const Image plot = decode_image({reinterpret_cast<const std::uint8_t*>(png.data()), png.size()});
  std::size_t above = 0;
  std::size_t below = 0;
  const std::size_t axis = 2 * (84 + 2 * 40 + 5);  // a little under the charts, two pixels a point
  for (std::size_t y = 0; y < plot.height; ++y) {
    for (std::size_t x = plot.width / 2; x < plot.width; ++x) {
      const std::uint8_t* pixel = plot.at(x, y);
      const bool red = pixel[0] > 180 && pixel[1] < 60 && pixel[2] < 80;
      (y < axis ? above : below) += red ? 1 : 0;
    }
  }
  EXPECT_GT(above, 500u);
  EXPECT_EQ(below, 0u);
}

}  // namespace
}  // namespace diml
