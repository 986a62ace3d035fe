#include "diml/figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "explain/arrow_routes.h"
#include "explain/colour_map.h"
#include "explain/label_places.h"
#include "explain/number_places.h"
#include "explain/numbers.h"
#include "explain/region_outline.h"
#include "random_grid.h"
#include "text_boxes.h"
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

TEST(Figure, RegionsHaveTheirShareInPlaceOfAFormula) {
  const Explanation why = between(49, 36);
  FigureParams params;
  params.style = FigureStyle::regions;
  const Image photo = plain(224, 224, 200);
  const std::string svg = draw_figure(why, photo, photo, PictureFormat::svg, params);
  double together = 0.0;
  for (const Region& region : why.regions) {
    EXPECT_NE(svg.find(explained::percent(region.share)), std::string::npos);
    together += region.share;
  }
  EXPECT_EQ(svg.find("] \u00d7 ["), std::string::npos);
  EXPECT_NE(svg.find("Outlined,"), std::string::npos);
  EXPECT_NE(draw_figure(why, photo, photo, PictureFormat::svg).find("] \u00d7 ["),
            std::string::npos)
      << "arrows are the default of the library";
  // The first region's colour.
  const Image drawn = decoded(draw_figure(why, photo, photo, PictureFormat::png, params));
  EXPECT_GT(pixels_like(drawn, 213, 94, 0), 1000u);
}

TEST(Figure, AsPngItShowsBothPhotosAndArrowsInRedAndBlue) {
  const Image figure = decoded(
      draw_figure(between(49, 49), plain(224, 224, 200), plain(224, 224, 90), PictureFormat::png));
  EXPECT_EQ(figure.width, 7u * 300);  // inches, dots per inch
  EXPECT_GT(figure.height, 600u);
  EXPECT_LT(figure.height, 1200u);
  constexpr std::size_t kMostOfAPhoto = 450 * 450 / 2;
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
  EXPECT_GT(figure.height, 24u * 12 * 300 / 72);  // room for every label, of a line and a half
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

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

std::string drawn(PictureFormat format, const FigureParams& params) {
  return draw_figure(between(15, 8), plain(64, 64, 200), plain(64, 64, 90), format, params);
}

TEST(Figure, IsAsWideAsAskedAndAPngSaysItsResolution) {
  FigureParams params;
  params.width = 84.0 / 25.4 * 72.0;  // one column of a journal: 84 mm
  params.dots_per_inch = 600;
  const std::string png = drawn(PictureFormat::png, params);
  EXPECT_EQ(decoded(png).width, 1984u);
  // The chunk pHYs: 600 dots per inch are 23622 per metre (0x5c46), in both directions.
  EXPECT_NE(png.find(std::string("pHYs\0\0\x5c\x46\0\0\x5c\x46\x01", 13)), std::string::npos);
  const std::string svg = drawn(PictureFormat::svg, params);
  EXPECT_EQ(test::fault_of_xml(svg), "");
  EXPECT_NE(svg.find("width=\"238.11"), std::string::npos) << svg.substr(0, 300);
}

TEST(Figure, ItsEdgesAreWhiteAtAnyResolution) {
  for (const double resolution : {96.0, 150.0, 300.0, 431.0}) {
    FigureParams params;
    params.dots_per_inch = resolution;
    params.width = 233.3;  // the last column and row are a part of a pixel
    const Image figure = decoded(drawn(PictureFormat::png, params));
    for (std::size_t x = 0; x < figure.width; ++x) {
      ASSERT_TRUE(is_near(figure.at(x, figure.height - 1), 255, 255, 255)) << resolution;
    }
    for (std::size_t y = 0; y < figure.height; ++y) {
      ASSERT_TRUE(is_near(figure.at(figure.width - 1, y), 255, 255, 255)) << resolution;
    }
  }
}

TEST(Figure, NamesOfPhotosTakeNoHeightBesideNumbersThatAreHigher) {
  FigureParams params;
  params.width = 238.0;
  params.strongest = 20;
  params.title = params.caption = false;
  params.panels = {.photos = true, .weights = false, .pairs = false};
  const std::size_t named = decoded(drawn(PictureFormat::png, params)).height;
  params.source_name = params.target_name = "";
  EXPECT_EQ(decoded(drawn(PictureFormat::png, params)).height, named);
}

TEST(Figure, TextOfAnSvgIsTextOfTheSizeAskedFor) {
  FigureParams params;
  params.font_size = 9.0;
  params.source_name = "<a & \"b\">.jpg";
  const std::string svg = drawn(PictureFormat::svg, params);
  EXPECT_EQ(svg.find("<glyph"), std::string::npos);
  EXPECT_EQ(svg.find("glyph"), std::string::npos);  // nor outlines of them
  EXPECT_NE(svg.find(">&lt;a &amp; &quot;b&quot;&gt;.jpg</text>"), std::string::npos);
  const Explanation why = between(15, 8);
  EXPECT_NE(svg.find(">" + explained::formula(why.pairs[0]) + "</text>"), std::string::npos);
  EXPECT_EQ(times(svg, "<text"), times(svg, "font-size=\"9.000\"") + 1);  // the title is larger
}

TEST(Figure, FontsOfAPdfAreInIt) {
  const std::string pdf = drawn(PictureFormat::pdf, {});
  EXPECT_NE(pdf.find("/FontFile"), std::string::npos);
  EXPECT_NE(pdf.find("/ToUnicode"), std::string::npos);  // text that can be searched and copied
}

TEST(Figure, PanelsTitleAndCaptionAreShownWhereAskedFor) {
  FigureParams params;
  const auto says = [&](const std::string& words) {
    return drawn(PictureFormat::svg, params).find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("structural similarity 0"));
  EXPECT_TRUE(says("[flow between"));
  EXPECT_TRUE(says(">weight"));
  params.title = false;
  params.caption = false;
  EXPECT_FALSE(says("similarity"));
  EXPECT_TRUE(says("] \u00d7 ["));
  params.panels = figure_panels_named("photos,weights");
  EXPECT_FALSE(says("] \u00d7 ["));
  EXPECT_TRUE(says(">weight"));
  params.panels = figure_panels_named("photos");
  EXPECT_FALSE(says(">weight"));
  EXPECT_TRUE(says("data:image/jpeg"));
  params.panels = figure_panels_named("weights,pairs");
  EXPECT_FALSE(says("data:image/jpeg"));
  EXPECT_TRUE(says("] \u00d7 ["));
  EXPECT_THROW(figure_panels_named("photos,heat"), Error);
  EXPECT_THROW(figure_panels_named(""), Error);
  params.panels = {false, false, false};
  EXPECT_THROW(drawn(PictureFormat::svg, params), Error);
}

TEST(Figure, InTheNumberedStyleEveryPairHasItsNumberInBothPhotosAndInTheList) {
  FigureParams params;
  params.style = figure_style_named("numbered");
  params.caption = false;
  const std::string svg = drawn(PictureFormat::svg, params);
  for (int k = 1; k <= 7; ++k) {
    EXPECT_EQ(times(svg, ">" + std::to_string(k) + "</text>"), k == 1 ? 5u : 3u) << k;
  }  // 1 is on both scales, too
  EXPECT_THROW(figure_style_named("bold"), Error);
}

TEST(Figure, RefusesWhatDoesNotFit) {
  const auto refuses = [](double width, double font, double dpi) {
    FigureParams params;
    params.width = width;
    params.font_size = font;
    params.dots_per_inch = dpi;
    EXPECT_THROW(drawn(PictureFormat::png, params), Error) << width << " " << font << " " << dpi;
  };
  refuses(100.0, 12.0, 100.0);
  refuses(1.0, 8.0, 100.0);
  refuses(504.0, 0.0, 100.0);
  refuses(504.0, 8.0, 0.0);
  refuses(504.0, 8.0, std::nan(""));
  refuses(3600.0, 8.0, 2400.0);  // more pixels than a picture can have
}

TEST(Figure, NoTextOverlapsAnotherOrLeavesTheFigure) {
  for (const double width : {150.0, 238.0, 300.0, 345.0, 400.0, 504.0, 900.0}) {
    for (const FigureStyle style :
         {FigureStyle::arrows, FigureStyle::numbered, FigureStyle::regions}) {
      for (const std::size_t strongest : {1u, 5u, 22u}) {
        FigureParams params;
        params.width = width;
        params.style = style;
        params.strongest = strongest;
        params.source_name = "a_very_long_name_of_a_photo_that_nobody_would_ever_want_to_type.jpg";
        if (width == 150.0 && strongest == 22 && style == FigureStyle::numbered) {
          EXPECT_THROW(drawn(PictureFormat::svg, params), Error) << "there is no room";
          continue;
        }
        test::expect_apart(test::text_boxes(drawn(PictureFormat::svg, params)), width,
                           "width " + std::to_string(width) + ", pairs " +
                               std::to_string(strongest) + ", style " +
                               std::to_string(static_cast<int>(style)));
      }
    }
  }
}

TEST(HeatColour, EqualStepsLookEqualAndGrowLighter) {
  using explained::oklab_of;
  constexpr int kSteps = 50;
  double least = 1e9;
  double most = 0.0;
  for (int k = 0; k < kSteps; ++k) {
    const explained::Oklab low = oklab_of(explained::heat_colour(static_cast<double>(k) / kSteps));
    const explained::Oklab high =
        oklab_of(explained::heat_colour(static_cast<double>(k + 1) / kSteps));
    EXPECT_GT(high.lightness, low.lightness + 0.25 / kSteps) << k;
    const double step = std::hypot(high.lightness - low.lightness, high.a - low.a, high.b - low.b);
    least = std::min(least, step);
    most = std::max(most, step);
  }
  EXPECT_LT(most, 1.05 * least);
  for (int k = 0; k <= 1000; ++k) {
    const explained::Ink ink = explained::heat_colour(k / 1000.0);
    for (const double part : {ink.red, ink.green, ink.blue}) {
      EXPECT_GE(part, 0.0);
      EXPECT_LE(part, 1.0);
    }
  }
}

TEST(HeatColour, OfAHeatMapIsTheColourOfItsScale) {
  // One cell that weighs everything, three that weigh nothing: both ends of the scale.
  const std::vector<float> cells = {1, 0, -1, 0, -1, 0, -1, 0};
  const std::vector<float> same = {1, 0, 1, 0};
  const Explanation why = explain(EmbeddingGrid(cells, 2, std::vector<float>{1, 0}),
                                  EmbeddingGrid(same, 2, std::vector<float>{1, 0}), {});
  ASSERT_GT(why.source_marginal[0], 0.99);
  FigureParams params{0, 0, "", ""};
  params.panels = figure_panels_named("weights");
  params.title = false;
  params.caption = false;
  params.dots_per_inch = 72.0;
  const Image figure =
      decoded(draw_figure(why, plain(8, 8, 9), plain(8, 8, 9), PictureFormat::png, params));
  const auto expect_at = [&](std::size_t x, std::size_t y, double value) {
    const explained::Ink ink = explained::heat_colour(value);
    const std::uint8_t* pixel = figure.at(x, y);
    EXPECT_NEAR(pixel[0], 255.0 * ink.red, 1.0) << x << " " << y;
    EXPECT_NEAR(pixel[1], 255.0 * ink.green, 1.0) << x << " " << y;
    EXPECT_NEAR(pixel[2], 255.0 * ink.blue, 1.0) << x << " " << y;
  };
  expect_at(20, 20, why.source_marginal[0]);  // the cell; 4 times even of a scale to 4
  expect_at(200, 20, why.source_marginal[1]);
  expect_at(20, 200, why.source_marginal[2]);
  const auto lit = [&](std::size_t x, std::size_t y) {
    return is_near(figure.at(x, y), 255, 255, 255);
  };
  std::size_t y = figure.height - 1;  // the scale: the lowest row whose middle is coloured
  std::size_t rows = 0;
  for (; y > 0; --y) {
    std::size_t first = 0;
    while (first < figure.width && lit(first, y)) ++first;
    std::size_t coloured = 0;
    for (std::size_t x = first; x < figure.width; ++x) coloured += lit(x, y) ? 0 : 1;
    if (coloured < figure.width / 4) continue;
    if (++rows < 3) continue;
    const double width = static_cast<double>(coloured);
    for (const double part : {0.1, 0.5, 0.9}) {
      const auto x = first + static_cast<std::size_t>(part * width);
      const explained::Ink ink =
          explained::heat_colour((static_cast<double>(x - first) + 0.5) / width);
      EXPECT_NEAR(figure.at(x, y)[0], 255.0 * ink.red, 5.0);
      EXPECT_NEAR(figure.at(x, y)[1], 255.0 * ink.green, 5.0);
      EXPECT_NEAR(figure.at(x, y)[2], 255.0 * ink.blue, 5.0);
    }
    break;
  }
  EXPECT_EQ(rows, 3u);
}

TEST(ArrowRoutes, ArrowsOfOneRowOfCellsDoNotRunOnEachOther) {
  using explained::Rectangle;
  const auto cell = [](double x, double y) { return Rectangle{x, y, 20.0, 20.0}; };
  const std::vector<explained::Route> routes = explained::arrow_routes(
      {{cell(0, 40), cell(200, 0)}, {cell(20, 40), cell(240, 80)}, {cell(60, 40), cell(200, 80)}},
      15.0, 8.0, 92.0);
  ASSERT_EQ(routes.size(), 3u);
  EXPECT_LT(routes[0].label + 15.0 - 1e-9, routes[1].label);
  EXPECT_LT(routes[1].label + 15.0 - 1e-9, routes[2].label);
  EXPECT_GT(routes[1].y0, routes[0].y0 + 3.0);  // in the order of their labels: none crosses
  EXPECT_GT(routes[2].y0, routes[1].y0 + 3.0);
  EXPECT_GT(routes[2].y1, routes[1].y1 + 3.0);
  for (const explained::Route& route : routes) {
    EXPECT_GT(route.y0, 40.0);
    EXPECT_LT(route.y0, 60.0);
  }
  EXPECT_EQ(routes[0].x0, 20.0);   // the right edge of its cell
  EXPECT_EQ(routes[1].x1, 240.0);  // the left edge
}

TEST(NumberPlaces, BoxesOfOneCornerStandApartInsideTheArea) {
  const explained::Rectangle area{10.0, 10.0, 60.0, 40.0};
  const auto pushed = [&](std::size_t count) {
    return explained::pushed_apart(std::vector<explained::Rectangle>(count, {5.0, 5.0, 12.0, 12.0}),
                                   area);
  };
  EXPECT_TRUE(pushed(12).has_value()) << "four in a row, three rows";
  EXPECT_FALSE(pushed(13).has_value());
  const std::vector<explained::Rectangle> boxes = pushed(6).value();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_GE(boxes[i].x, area.x);
    EXPECT_LE(boxes[i].right(), area.right() + 1e-9);
    EXPECT_GE(boxes[i].y, area.y);
    EXPECT_LE(boxes[i].bottom(), area.bottom() + 1e-9);
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_TRUE(std::abs(boxes[i].x - boxes[j].x) >= 12.0 - 1e-6 ||
                  std::abs(boxes[i].y - boxes[j].y) >= 12.0 - 1e-6)
          << i << " " << j;
    }
  }
}

TEST(RegionOutline, RunsInsideItsCellsAndCloses) {
  const explained::Rectangle area{10.0, 20.0, 40.0, 30.0};  // cells of 10 x 10
  // An L, and a cell that touches it at a corner.
  const std::vector<std::size_t> cells = {0, 4, 5, 10};
  const std::vector<explained::Side> sides = region_outline(area, {3, 4}, cells, 2.0);
  const auto ends_at = [&](double x, double y) {
    return std::count_if(sides.begin(), sides.end(), [&](const explained::Side& side) {
      return (side.x0 == x && side.y0 == y) || (side.x1 == x && side.y1 == y);
    });
  };
  double length = 0.0;
  for (const explained::Side& side : sides) {
    EXPECT_EQ(ends_at(side.x0, side.y0), 2) << side.x0 << ", " << side.y0;
    EXPECT_EQ(ends_at(side.x1, side.y1), 2) << side.x1 << ", " << side.y1;
    length += (side.x1 - side.x0) + (side.y1 - side.y0);
  }
  // 80 around the L, 2 less at both ends of a side that turns inwards, 2 more where it turns
  // outwards; 40 around the other cell.
  EXPECT_DOUBLE_EQ(length, 80.0 - 8 * 2.0 + 40.0 - 8 * 2.0);
  // The upper side of the first cell.
  EXPECT_TRUE(std::any_of(sides.begin(), sides.end(), [](const explained::Side& side) {
    return side.x0 == 12.0 && side.x1 == 18.0 && side.y0 == 22.0 && side.y1 == 22.0;
  }));
}

TEST(Figure, NoFrameOfARegionHidesAnother) {
  Explanation why = between(16, 16);
  ASSERT_GE(why.regions.size(), 3u);
  why.regions.resize(3);
  for (Region& region : why.regions) region.target = {5, 6, 9, 10};  // the middle of the photo
  FigureParams params;
  params.style = FigureStyle::regions;
  const Image figure = decoded(
      draw_figure(why, plain(224, 224, 200), plain(224, 224, 90), PictureFormat::png, params));
  std::size_t left = figure.width;
  std::size_t right = 0;
  for (std::size_t y = 0; y < figure.height; ++y) {
    for (std::size_t x = 0; x < figure.width; ++x) {
      if (!is_near(figure.at(x, y), 90, 90, 90)) continue;
      left = std::min(left, x);
      right = std::max(right, x);
    }
  }
  ASSERT_LT(left, right);
  // The right half of the frames, where no arrow runs: of each colour at least a thin line.
  const std::size_t side = right - left;
  for (const auto& [red, green, blue] : {std::array{213, 94, 0}, {0, 114, 178}, {0, 128, 94}}) {
    std::size_t framed = 0;
    for (std::size_t y = 0; y < figure.height; ++y) {
      for (std::size_t x = left + side * 5 / 8; x < left + side * 7 / 8; ++x) {
        framed += is_near(figure.at(x, y), red, green, blue) ? 1 : 0;
      }
    }
    EXPECT_GT(framed, side / 2) << red << " " << green << " " << blue;
  }
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
