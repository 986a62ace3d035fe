#include "diml/figure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "explain/label_places.h"
#include "random_grid.h"
#include "well_formed.h"

namespace diml {
namespace {

Image plain(std::size_t width, std::size_t height, std::uint8_t shade) {
  return {width, height, std::vector<std::uint8_t>(width * height * 3, shade)};
}

Explanation between(std::size_t source, std::size_t target, const MatchParams& params = {}) {
  return explain(test::random_grid(source, 8, 1), test::random_grid(target, 8, 2), params);
}

Image decoded(const std::string& bytes) {
  return decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

bool is_near(const std::uint8_t* pixel, int red, int green, int blue) {
  const auto off = [](int x, int y) { return std::abs(x - y); };
  return off(pixel[0], red) < 12 && off(pixel[1], green) < 12 && off(pixel[2], blue) < 12;
}

std::size_t pixels_like(const Image& image, int red, int green, int blue) {
  std::size_t count = 0;
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      count += is_near(image.at(x, y), red, green, blue) ? 1 : 0;
    }
  }
  return count;
}

TEST(Figure, AsPngItShowsBothPhotosAndArrowsInRedAndBlue) {
  const Image figure = decoded(
      draw_figure(between(49, 49), plain(224, 224, 200), plain(224, 224, 90), PictureFormat::png));
  // Two pixels a point: four squares of 300, the column of labels and margins.
  EXPECT_EQ(figure.width, 2u * (4 * 300 + 2 * 10 + 210 + 2 * 20));
  EXPECT_GT(figure.height, 2u * 300);
  constexpr std::size_t kMostOfAPhoto = 600 * 600 / 2;
  EXPECT_GT(pixels_like(figure, 200, 200, 200), kMostOfAPhoto);
  EXPECT_GT(pixels_like(figure, 90, 90, 90), kMostOfAPhoto);
  EXPECT_GT(pixels_like(figure, 204, 20, 41), 2000u);
  EXPECT_GT(pixels_like(figure, 26, 92, 194), 800u);
}

TEST(Figure, WithoutArrowsThereAreNone) {
  const FigureParams none{0, 0, "source", "target"};
  const Image figure = decoded(draw_figure(between(16, 16), plain(64, 64, 200), plain(64, 64, 90),
                                           PictureFormat::png, none));
  EXPECT_EQ(pixels_like(figure, 204, 20, 41), 0u);
  EXPECT_EQ(pixels_like(figure, 26, 92, 194), 0u);
}

TEST(Figure, AsSvgItIsWellFormedAndNeedsNoOtherFile) {
  FigureParams params;
  params.source_name = "<a & \"b\">.jpg";
  const std::string svg = draw_figure(between(49, 49), plain(224, 224, 200), plain(224, 224, 90),
                                      PictureFormat::svg, params);
  EXPECT_EQ(test::fault_of_xml(svg), "");
  EXPECT_NE(svg.find("<svg"), std::string::npos);
  EXPECT_NE(svg.find("data:image/jpeg;base64,"), std::string::npos);
  EXPECT_EQ(svg.find("href=\"http"), std::string::npos);
}

TEST(Figure, AsPdfItBeginsAndEndsAsOne) {
  const std::string pdf =
      draw_figure(between(49, 49), plain(224, 224, 200), plain(224, 224, 90), PictureFormat::pdf);
  EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
  EXPECT_NE(pdf.substr(pdf.size() - 16).find("%%EOF"), std::string::npos);
}

TEST(Figure, IsDrawnOfGridsOfAllSizesAndOfUnequalOnes) {
  for (std::size_t side = 1; side <= 14; ++side) {
    const std::string png = draw_figure(between(side * side, side * side), plain(64, 64, 200),
                                        plain(64, 64, 90), PictureFormat::png);
    EXPECT_GT(decoded(png).width, 0u) << side;
  }
  const FigureParams many{20, 4, "source", "target"};
  const Image figure = decoded(draw_figure(between(15, 8), plain(100, 60, 200), plain(80, 90, 90),
                                           PictureFormat::png, many));
  EXPECT_GT(figure.height, 2u * 24 * 27);  // room for every label
}

TEST(Figure, OfDegenerateImagesIsAFigureToo) {
  const std::vector<float> one = {1, 0};
  const std::vector<float> other = {0, 1};
  const Explanation why = explain(EmbeddingGrid(one, 2), EmbeddingGrid(other, 2), {});
  EXPECT_NO_THROW(decoded(draw_figure(why, plain(8, 8, 9), plain(8, 8, 9), PictureFormat::png)));
}

TEST(Figure, RefusesMoreArrowsThanCanBeToldApart) {
  const FigureParams many{20, 5, "source", "target"};
  EXPECT_THROW(draw_figure(between(4, 4), plain(8, 8, 9), plain(8, 8, 9), PictureFormat::png, many),
               Error);
  EXPECT_THROW(draw_figure(between(4, 4), {}, plain(8, 8, 9), PictureFormat::png), Error);
}

TEST(LabelPlaces, LabelsStayWhereTheyWantToBeWhereThereIsRoom) {
  EXPECT_EQ(explained::label_places({50.0, 10.0, 90.0}, 20.0, 0.0, 100.0),
            (std::vector<double>{50.0, 10.0, 90.0}));
}

TEST(LabelPlaces, CrowdedLabelsStandApartAndKeepTheirOrder) {
  const std::vector<double> places =
      explained::label_places({50.0, 51.0, 49.0, 2.0, 99.0}, 20.0, 0.0, 100.0);
  EXPECT_DOUBLE_EQ(places[0], 50.0);
  EXPECT_DOUBLE_EQ(places[1], 70.0);
  EXPECT_DOUBLE_EQ(places[2], 30.0);
  EXPECT_DOUBLE_EQ(places[3], 2.0);
  EXPECT_DOUBLE_EQ(places[4], 99.0);
}

TEST(LabelPlaces, MoreThanFitShareTheRoom) {
  std::vector<double> places =
      explained::label_places(std::vector<double>(11, 30.0), 20.0, 0.0, 100.0);
  std::sort(places.begin(), places.end());
  for (std::size_t k = 0; k < places.size(); ++k) {
    EXPECT_NEAR(places[k], 10.0 * static_cast<double>(k), 1e-9);
  }
}

}  // namespace
}  // namespace diml
