#include "diml/figure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "diml/error.h"
#include "drawing.h"
#include "label_places.h"
#include "numbers.h"

namespace diml {
namespace {

using explained::Align;
using explained::Drawing;
using explained::Ink;
using explained::kBlack;
using explained::kBlue;
using explained::kGrey;
using explained::kRed;
using explained::kWhite;
using explained::number;
using explained::Rectangle;
using explained::TextStyle;

// In points.
constexpr double kMargin = 20.0;
constexpr double kTop = 76.0;      // of the pictures; title and names stand above
constexpr double kGap = 210.0;     // between the photos: the formulas' column
constexpr double kBetween = 10.0;  // a photo and its heat map
constexpr double kSide = 300.0;    // height of a picture, unless the labels need more
constexpr double kLabelHeight = 21.0;
constexpr double kLabelPitch = 27.0;
constexpr double kBelow = 92.0;   // scales and the words at the foot
constexpr double kWide = 1300.0;  // where those words take one line
constexpr TextStyle kLabelText{11.5, kBlack, Align::centre};

struct Arrow {
  const PartPair* pair;
  Ink ink;
  double width;
  double label = 0.0;  // y of its label's middle
};

struct Layout {
  Rectangle source_heat;
  Rectangle source;
  Rectangle target;
  Rectangle target_heat;
  double width;
  double height;

  double middle() const { return (source.x + source.width + target.x) / 2.0; }
};

Layout layout_of(const Image& source, const Image& target, std::size_t labels) {
  const double side = std::max(kSide, kLabelPitch * static_cast<double>(labels));
  const auto width_of = [side](const Image& image) {
    // Squares for a network's crop; whatever else is shown keeps its proportions within reason.
    return side * std::clamp(static_cast<double>(image.width) / static_cast<double>(image.height),
                             0.5, 2.0);
  };
  Layout layout{};
  double x = kMargin;
  const auto next = [&](double width, double space) {
    const Rectangle area{x, kTop, width, side};
    x += width + space;
    return area;
  };
  layout.source_heat = next(width_of(source), kBetween);
  layout.source = next(width_of(source), kGap);
  layout.target = next(width_of(target), kBetween);
  layout.target_heat = next(width_of(target), 0.0);
  layout.width = x + kMargin;
  layout.height = kTop + side + kBelow + (layout.width < kWide ? 34.0 : 0.0);
  return layout;
}

Rectangle cell_of(const Rectangle& area, GridShape shape, std::size_t cell) {
  const double width = area.width / static_cast<double>(shape.cols);
  const double height = area.height / static_cast<double>(shape.rows);
  const std::size_t row = cell / shape.cols;
  const std::size_t col = cell % shape.cols;
  return {area.x + width * static_cast<double>(col), area.y + height * static_cast<double>(row),
          width, height};
}

double middle_x(const Rectangle& area) { return area.x + area.width / 2.0; }
double middle_y(const Rectangle& area) { return area.y + area.height / 2.0; }

std::vector<Arrow> arrows_of(const Explanation& why, const FigureParams& params) {
  std::vector<Arrow> arrows;
  const double most = why.pairs.empty() ? 1.0 : std::max(1e-12, why.pairs[0].contribution);
  const auto width = [&](const PartPair& pair) {
    return 1.4 + 2.0 * std::sqrt(std::clamp(pair.contribution / most, 0.0, 1.0));
  };
  for (std::size_t k = 0; k < std::min(params.strongest, why.pairs.size()); ++k) {
    arrows.push_back({&why.pairs[k], kRed, width(why.pairs[k])});
  }
  const std::size_t red = arrows.size();
  const auto is_red = [&](const PartPair& pair) {
    return std::any_of(
        arrows.begin(), arrows.begin() + static_cast<std::ptrdiff_t>(red), [&](const Arrow& arrow) {
          return arrow.pair->source == pair.source && arrow.pair->target == pair.target;
        });
  };
  for (std::size_t k = 0; k < why.weakest.size() && arrows.size() - red < params.weakest; ++k) {
    if (!is_red(why.weakest[k])) arrows.push_back({&why.weakest[k], kBlue, width(why.weakest[k])});
  }
  return arrows;
}

void grid_lines(const Drawing& drawing, const Rectangle& area, GridShape shape) {
  constexpr Ink kFaint{1.0, 1.0, 1.0, 0.28};
  for (std::size_t c = 1; c < shape.cols; ++c) {
    const double x = cell_of(area, shape, c).x;
    drawing.line(x, area.y, x, area.y + area.height, kFaint, 0.6);
  }
  for (std::size_t r = 1; r < shape.rows; ++r) {
    const double y = cell_of(area, shape, r * shape.cols).y;
    drawing.line(area.x, y, area.x + area.width, y, kFaint, 0.6);
  }
}

void mark(const Drawing& drawing, const Rectangle& cell, const Arrow& arrow) {
  const Rectangle inner{cell.x + 1.0, cell.y + 1.0, cell.width - 2.0, cell.height - 2.0};
  drawing.outline(inner, {1.0, 1.0, 1.0, 0.85}, arrow.width + 1.6);
  drawing.outline(inner, arrow.ink, std::min(arrow.width, 2.2));
}

// From the source cell to the label, and from the label to the target cell with a head. Twice: a
// white rim tells it from the photo.
void arrow_line(const Drawing& drawing, const Layout& layout, const Explanation& why,
                const Arrow& arrow, double half_label) {
  cairo_t* cairo = drawing.cairo();
  const Rectangle from = cell_of(layout.source, why.source, arrow.pair->source);
  const Rectangle to = cell_of(layout.target, why.target, arrow.pair->target);
  const double left = layout.middle() - half_label;
  const double right = layout.middle() + half_label;
  const double x0 = middle_x(from);
  const double y0 = middle_y(from);
  const double x1 = middle_x(to);
  const double y1 = middle_y(to);
  // The head points where the curve's last stretch goes.
  const double bend = 0.45 * (x1 - right);
  const double angle = std::atan2(0.35 * (y1 - arrow.label), x1 - right);
  const double head = 5.0 + 2.2 * arrow.width;
  const double tip_x = x1 + 2.0 * std::cos(angle);
  const double tip_y = y1 + 2.0 * std::sin(angle);
  const double neck_x = tip_x - head * std::cos(angle);
  const double neck_y = tip_y - head * std::sin(angle);
  const auto path = [&] {
    cairo_move_to(cairo, x0, y0);
    cairo_curve_to(cairo, x0 + 0.45 * (left - x0), y0, left - 0.35 * (left - x0), arrow.label, left,
                   arrow.label);
    cairo_move_to(cairo, right, arrow.label);
    cairo_curve_to(cairo, right + 0.35 * (x1 - right), arrow.label, neck_x - bend * std::cos(angle),
                   neck_y - bend * std::sin(angle), neck_x, neck_y);
  };
  const auto triangle = [&](double grown) {
    const double half = 0.42 * head + grown;
    cairo_move_to(cairo, tip_x + grown * std::cos(angle), tip_y + grown * std::sin(angle));
    cairo_line_to(cairo, neck_x - half * std::sin(angle), neck_y + half * std::cos(angle));
    cairo_line_to(cairo, neck_x + half * std::sin(angle), neck_y - half * std::cos(angle));
    cairo_close_path(cairo);
    cairo_fill(cairo);
  };
  const auto dot = [&](double radius) {
    cairo_arc(cairo, x0, y0, radius, 0.0, 2.0 * std::numbers::pi);
    cairo_fill(cairo);
  };
  for (const bool rim : {true, false}) {
    drawing.ink(rim ? Ink{1.0, 1.0, 1.0, 0.9} : arrow.ink);
    cairo_set_line_width(cairo, arrow.width + (rim ? 1.8 : 0.0));
    path();
    cairo_stroke(cairo);
    triangle(rim ? 1.2 : 0.0);
    dot(1.6 + 0.5 * arrow.width + (rim ? 0.9 : 0.0));
  }
}

void label_box(const Drawing& drawing, double x, const Arrow& arrow, double half) {
  cairo_t* cairo = drawing.cairo();
  const double radius = kLabelHeight / 2.0;
  const double quarter = std::numbers::pi / 2.0;
  cairo_new_path(cairo);
  cairo_arc(cairo, x + half - radius, arrow.label, radius, -quarter, quarter);
  cairo_arc(cairo, x - half + radius, arrow.label, radius, quarter, 3.0 * quarter);
  cairo_close_path(cairo);
  drawing.ink(kWhite);
  cairo_fill_preserve(cairo);
  drawing.ink(arrow.ink);
  cairo_set_line_width(cairo, 1.1);
  cairo_stroke(cairo);
  TextStyle style = kLabelText;
  style.ink = arrow.ink;
  drawing.text(x, arrow.label + 0.36 * style.size, explained::formula(*arrow.pair), style);
}

void draw_arrows(const Drawing& drawing, const Layout& layout, const Explanation& why,
                 std::vector<Arrow>& arrows) {
  std::vector<double> wanted;
  double half = 0.0;
  for (const Arrow& arrow : arrows) {
    wanted.push_back((middle_y(cell_of(layout.source, why.source, arrow.pair->source)) +
                      middle_y(cell_of(layout.target, why.target, arrow.pair->target))) /
                     2.0);
    half =
        std::max(half, drawing.width_of(explained::formula(*arrow.pair), kLabelText) / 2.0 + 10.0);
  }
  const Rectangle& area = layout.source;
  const std::vector<double> places = explained::label_places(
      wanted, kLabelPitch, area.y + kLabelHeight / 2.0, area.y + area.height - kLabelHeight / 2.0);
  for (std::size_t k = 0; k < arrows.size(); ++k) arrows[k].label = places[k];
  // The strongest is drawn last and lies on top.
  std::for_each(arrows.rbegin(), arrows.rend(), [&](const Arrow& arrow) {
    mark(drawing, cell_of(layout.source, why.source, arrow.pair->source), arrow);
    mark(drawing, cell_of(layout.target, why.target, arrow.pair->target), arrow);
  });
  std::for_each(arrows.rbegin(), arrows.rend(),
                [&](const Arrow& arrow) { arrow_line(drawing, layout, why, arrow, half); });
  for (const Arrow& arrow : arrows) label_box(drawing, layout.middle(), arrow, half);
}

void draw_heat(const Drawing& drawing, const Image& image, const std::vector<double>& marginal,
               GridShape shape, double largest, const Rectangle& area) {
  drawing.photo(explained::grey(image), area);
  std::vector<double> times_even = marginal;
  for (double& weight : times_even) weight *= static_cast<double>(marginal.size());
  drawing.heat(times_even, shape, largest, area, 0.66);
  drawing.text(middle_x(area), kTop - 10.0, "how much each part weighs",
               {11.5, kGrey, Align::centre});
  const double y = area.y + area.height + 9.0;
  const double width = 0.42 * area.width;
  const double x = middle_x(area) - width / 2.0;
  drawing.heat_scale({x, y, width, 7.0});
  drawing.text(x - 6.0, y + 7.5, "0", {10.0, kGrey, Align::right});
  drawing.text(x + width + 6.0, y + 7.5, number("%.1f \u00d7 even", largest), {10.0, kGrey});
}

std::string shortened(const Drawing& drawing, const std::string& name, double width,
                      const TextStyle& style) {
  if (drawing.width_of(name, style) <= width) return name;
  constexpr const char* kDots = "\u2026";
  std::string tail = name;
  while (!tail.empty() && drawing.width_of(kDots + tail, style) > width) {
    // Letters of several bytes go as a whole.
    do tail.erase(0, 1);
    while (!tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xc0U) == 0x80U);
  }
  return kDots + tail;
}

void draw_title(const Drawing& drawing, const Layout& layout, const Explanation& why) {
  const TextStyle light{15.0, kGrey};
  const TextStyle bold{15.0, kBlack, Align::left, true};
  const std::string before = "cosine similarity " + number("%.3f", why.cosine) + "   \u2192   ";
  const std::string after = "structural similarity " + number("%.3f", why.score);
  const double width = drawing.width_of(before, light) + drawing.width_of(after, bold);
  const double x = (layout.width - width) / 2.0;
  drawing.text(x, 34.0, before, light);
  drawing.text(x + drawing.width_of(before, light), 34.0, after, bold);
}

void draw_foot(const Drawing& drawing, const Layout& layout, const Explanation& why,
               const std::vector<Arrow>& arrows) {
  double red = 0.0;
  double blue = 0.0;
  std::size_t reds = 0;
  for (const Arrow& arrow : arrows) {
    const bool strong = arrow.ink.red > arrow.ink.blue;
    (strong ? red : blue) += arrow.pair->share;
    reds += strong ? 1 : 0;
  }
  const std::string count = std::to_string(why.pairs.size());
  std::string words =
      "[flow between two parts, 1 = even] \u00d7 [their similarity], summed over all " + count +
      " pairs and divided by " + count + ", is the structural similarity " +
      number("%.4f", why.score) + ".";
  if (reds > 0) {
    words += " The strongest " + std::to_string(reds) + " (red) make " + explained::percent(red) +
             " of it";
    if (arrows.size() > reds) {
      words += ", the weakest " + std::to_string(arrows.size() - reds) + " (blue) " +
               explained::percent(blue);
    }
    words += ".";
  }
  words += " Plain cosine says " + number("%.4f", why.cosine) + ".";
  const double width = layout.width - 2.0 * kMargin;
  const double y = layout.source.y + layout.source.height + 44.0;
  const double next = drawing.paragraph(kMargin, y, width, words, {11.5, kBlack});
  const TransportParams& transport = why.params.transport;
  std::string how = std::string("weights: ") + name_of(why.params.marginals);
  how += std::string(";  solver: ") + name_of(transport.solver);
  if (transport.solver != Solver::exact) {
    how += number(", lambda %g", transport.lambda) + ", " + std::to_string(why.iterations) +
           " iterations" + (why.converged ? "" : ", not converged") +
           number(", marginal error %.1e", why.marginal_error);
  }
  if (why.fallbacks.uniform_source)
    how += ";  no part of the source resembles the target: even weights";
  if (why.fallbacks.uniform_target)
    how += ";  no part of the target resembles the source: even weights";
  drawing.paragraph(kMargin, next + 2.0, width, how, {10.5, kGrey});
}

}  // namespace

std::string draw_figure(const Explanation& why, const Image& source, const Image& target,
                        PictureFormat format, const FigureParams& params) {
  if (params.strongest + params.weakest > kMostArrows) {
    throw Error("a figure has room for " + std::to_string(kMostArrows) +
                " arrows of both colours: ask for fewer");
  }
  if (source.pixels.empty() || target.pixels.empty()) throw Error("a figure needs both images");
  std::vector<Arrow> arrows = arrows_of(why, params);
  const Layout layout = layout_of(source, target, arrows.size());
  Drawing drawing(format, layout.width, layout.height);
  draw_title(drawing, layout, why);
  const auto peak = [](const std::vector<double>& weights) {
    return *std::max_element(weights.begin(), weights.end()) * static_cast<double>(weights.size());
  };
  // One scale for both; even weights are not its brightest colour.
  const double largest = std::max({peak(why.source_marginal), peak(why.target_marginal), 1.5});
  draw_heat(drawing, source, why.source_marginal, why.source, largest, layout.source_heat);
  draw_heat(drawing, target, why.target_marginal, why.target, largest, layout.target_heat);
  drawing.photo(source, layout.source);
  drawing.photo(target, layout.target);
  grid_lines(drawing, layout.source, why.source);
  grid_lines(drawing, layout.target, why.target);
  constexpr TextStyle kName{11.5, kBlack, Align::centre};
  drawing.text(middle_x(layout.source), kTop - 10.0,
               shortened(drawing, params.source_name, layout.source.width, kName), kName);
  drawing.text(middle_x(layout.target), kTop - 10.0,
               shortened(drawing, params.target_name, layout.target.width, kName), kName);
  draw_arrows(drawing, layout, why, arrows);
  draw_foot(drawing, layout, why, arrows);
  return drawing.bytes();
}

}  // namespace diml
