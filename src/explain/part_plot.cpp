#include "explain/part_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "drawing.h"
#include "numbers.h"

namespace diml {
namespace {

using explained::Align;
using explained::Drawing;
using explained::Ink;
using explained::kBlack;
using explained::kBlue;
using explained::kGrey;
using explained::kLight;
using explained::kRed;
using explained::number;
using explained::Rectangle;
using explained::TextStyle;

// In points.
constexpr double kMargin = 24.0;
constexpr double kTop = 84.0;
constexpr double kRow = 40.0;
constexpr double kNames = 190.0;
constexpr double kBars = 300.0;
constexpr double kChart = 270.0;
constexpr double kBetween = 84.0;
constexpr double kFoot = 52.0;
constexpr TextStyle kHeading{12.5, kBlack, Align::left, true};
constexpr Ink kPale{0.80, 0.08, 0.16, 0.28};
constexpr Ink kPaleGrey{0.42, 0.42, 0.45, 0.28};

struct Axis {
  double low;
  double high;
  double step;
};

// About five round numbers over the range of the values.
Axis axis_around(double low, double high) {
  const double span = std::max(high - low, 1e-6);
  double step = std::pow(10.0, std::floor(std::log10(span / 4.0)));
  for (const double times : {2.0, 2.5, 2.0}) {
    if (span / step > 6.0) step *= times;
  }
  return {std::floor(low / step) * step, std::ceil(high / step) * step, step};
}

void draw_bars(const Drawing& drawing, const std::vector<PartMethod>& methods, double height) {
  const double x = kMargin + kNames;
  drawing.text(kMargin, kTop - 22.0, "Is it the cell of the same part?", kHeading);
  for (int tick = 0; tick <= 100; tick += 25) {
    const double at = x + kBars * tick / 100.0;
    drawing.line(at, kTop - 6.0, at, kTop + height, kLight, 0.8);
    drawing.text(at, kTop + height + 16.0, std::to_string(tick) + " %",
                 {10.5, kGrey, Align::centre});
  }
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const PartMethod& method = methods[m];
    const bool ours = method.name.find("transport") == 0;
    const double y = kTop + kRow * static_cast<double>(m) + 6.0;
    drawing.text(x - 10.0, y + 17.0, method.name, {11.5, kBlack, Align::right});
    drawing.fill({x, y, kBars * method.within_one, kRow - 12.0}, ours ? kPale : kPaleGrey);
    drawing.fill({x, y + 6.0, kBars * method.exact, kRow - 24.0}, ours ? kRed : kGrey);
    // Two standard errors in each direction.
    const auto whisker = [&](double share, double error, double at) {
      drawing.line(x + kBars * std::max(0.0, share - 2.0 * error), at,
                   x + kBars * std::min(1.0, share + 2.0 * error), at, kBlack, 1.0);
    };
    whisker(method.exact, method.exact_error, y + (kRow - 12.0) / 2.0);
    whisker(method.within_one, method.within_error, y + (kRow - 12.0) / 2.0);
    drawing.text(
        x + kBars + 12.0, y + 17.5,
        number("%.1f", 100.0 * method.exact) + number(" / %.1f", 100.0 * method.within_one),
        {11.5, kBlack});
  }
  const double y = kTop + height + 38.0;
  drawing.fill({x, y - 9.0, 10.0, 10.0}, kRed);
  drawing.text(x + 15.0, y, "exactly", {10.5, kGrey});
  drawing.fill({x + 75.0, y - 9.0, 10.0, 10.0}, kPale);
  drawing.text(x + 90.0, y, "within one cell; lines: two standard errors", {10.5, kGrey});
}

Ink ink_of(KeptCells kept) {
  return kept == KeptCells::strongest ? kRed : kept == KeptCells::weakest ? kBlue : kGrey;
}

const char* words_of(KeptCells kept) {
  return kept == KeptCells::strongest ? "keep the strongest parts"
         : kept == KeptCells::weakest ? "remove the strongest parts"
                                      : "in random order";
}

void draw_chart(const Drawing& drawing, const std::vector<Curve>& curves, double CurvePoint::*value,
                const std::string& title, const Rectangle& area) {
  double low = 1e9;
  double high = -1e9;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      low = std::min(low, point.*value);
      high = std::max(high, point.*value);
    }
  }
  const Axis axis = axis_around(low, high);
  const auto place_x = [&](double share) { return area.x + share * area.width; };
  const auto place_y = [&](double at) {
    return area.y + area.height * (1.0 - (at - axis.low) / (axis.high - axis.low));
  };
  drawing.text(area.x, kTop - 22.0, title, kHeading);
  const auto ticks = static_cast<int>(std::lround((axis.high - axis.low) / axis.step));
  for (int k = 0; k <= ticks; ++k) {
    const double tick = axis.low + k * axis.step;
    drawing.line(area.x, place_y(tick), area.x + area.width, place_y(tick), kLight, 0.8);
    drawing.text(area.x - 7.0, place_y(tick) + 3.5, number(axis.step < 0.1 ? "%.2f" : "%.1f", tick),
                 {10.5, kGrey, Align::right});
  }
  for (int tick = 0; tick <= 100; tick += 25) {
    drawing.text(place_x(tick / 100.0), area.y + area.height + 16.0, std::to_string(tick) + " %",
                 {10.5, kGrey, Align::centre});
  }
  drawing.text(area.x + area.width / 2.0, area.y + area.height + 38.0, "parts of the source kept",
               {10.5, kGrey, Align::centre});
  cairo_t* cairo = drawing.cairo();
  for (const Curve& curve : curves) {
    drawing.ink(ink_of(curve.kept));
    cairo_set_line_width(cairo, 2.0);
    for (const CurvePoint& point : curve.points) {
      cairo_line_to(cairo, place_x(point.kept), place_y(point.*value));
    }
    cairo_stroke(cairo);
    for (const CurvePoint& point : curve.points) {
      cairo_arc(cairo, place_x(point.kept), place_y(point.*value), 2.6, 0.0,
                2.0 * std::numbers::pi);
      cairo_fill(cairo);
    }
  }
}

void draw_legend(const Drawing& drawing, const std::vector<Curve>& curves, double x) {
  for (const Curve& curve : curves) {
    drawing.line(x, 26.0, x + 18.0, 26.0, ink_of(curve.kept), 2.0);
    const TextStyle style{11.0, kBlack};
    drawing.text(x + 24.0, 30.0, words_of(curve.kept), style);
    x += 24.0 + drawing.width_of(words_of(curve.kept), style) + 22.0;
  }
}

}  // namespace

std::string draw_part_truth(const std::vector<PartMethod>& methods,
                            const std::vector<Curve>& curves, const std::string& title,
                            PictureFormat format) {
  const double height = kRow * static_cast<double>(methods.size());
  const double bars = kMargin + kNames + kBars + 90.0;
  const double charts = curves.empty() ? 0.0 : kBetween + 2.0 * kChart + kBetween;
  Drawing drawing(format, bars + charts + kMargin, kTop + height + kFoot);
  drawing.text(kMargin, 30.0, title, {13.5, kBlack, Align::left, true});
  draw_bars(drawing, methods, height);
  if (!curves.empty()) {
    const double x = bars + kBetween;
    draw_legend(drawing, curves, x);
    draw_chart(drawing, curves, &CurvePoint::score, "Structural similarity",
               {x, kTop, kChart, height});
    draw_chart(drawing, curves, &CurvePoint::reciprocal_rank, "Mean reciprocal rank of the target",
               {x + kChart + kBetween, kTop, kChart, height});
  }
  return drawing.bytes();
}

}  // namespace diml
