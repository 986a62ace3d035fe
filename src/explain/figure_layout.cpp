#include "figure_layout.h"

#include <algorithm>
#include <cmath>

#include "diml/error.h"
#include "numbers.h"

namespace diml::explained {
namespace {

enum class HeatPlace : std::uint8_t { nowhere, outside, below };

constexpr double kHeatSide = 0.6;      // of a heat map outside, in heights of its photo
constexpr double kComfortable = 12.0;  // height of a photo, in sizes of the text
constexpr double kSmallest = 4.0;

// One arrangement of the panels, and how high its photos can be.
struct Arrangement {
  PairPlace pairs = PairPlace::nowhere;
  HeatPlace heat = HeatPlace::nowhere;
  double gap = 0.0;
  double side = 0.0;
};

class Planner {
 public:
  Planner(const FigureParams& params, const FigureContents& contents)
      : params_(params), contents_(contents), font_(params.font_size) {}

  FigureLayout layout() const;

 private:
  bool arrows() const {
    return params_.style != FigureStyle::numbered && params_.panels.photos && contents_.pairs > 0;
  }
  double inner() const { return params_.width - 2.0 * FigureLayout::margin(font_); }
  double aspects() const { return contents_.source_aspect + contents_.target_aspect; }
  double names() const {
    return params_.source_name.empty() && params_.target_name.empty() ? 0.0 : 1.5 * font_;
  }
  double between() const { return 0.75 * font_; }  // a photo and its heat map
  double formula() const { return FigureLayout::badge(font_) + contents_.formula_width + font_; }
  double entry() const { return formula() + 0.9 * font_ + contents_.share_width; }

  Arrangement sized(PairPlace pairs, HeatPlace heat) const;
  Arrangement chosen() const;
  double height_of_column(const Arrangement& arrangement) const;
  double place_pictures(FigureLayout& layout, const Arrangement& arrangement, double y) const;
  double place_entries(FigureLayout& layout, double y) const;

  const FigureParams& params_;
  const FigureContents& contents_;
  double font_;
};

Arrangement Planner::sized(PairPlace pairs, HeatPlace heat) const {
  Arrangement result{pairs, heat, font_, 0.0};
  if (pairs == PairPlace::between_photos) {
    result.gap = arrows() ? formula() + 6.0 * font_ : entry() + 2.0 * font_;
  } else if (arrows()) {
    result.gap = FigureLayout::badge(font_) + 5.4 * font_;
  }
  const bool outside = heat == HeatPlace::outside;
  result.side = (inner() - result.gap - (outside ? 2.0 * between() : 0.0)) /
                (aspects() * (outside ? 1.0 + kHeatSide : 1.0));
  return result;
}

// The first that leaves the photos large enough.
Arrangement Planner::chosen() const {
  const bool photos = params_.panels.photos;
  const HeatPlace beside = !params_.panels.weights ? HeatPlace::nowhere
                           : photos                ? HeatPlace::outside
                                                   : HeatPlace::below;
  const HeatPlace below = params_.panels.weights ? HeatPlace::below : HeatPlace::nowhere;
  const bool listed = params_.panels.pairs && contents_.pairs > 0;
  std::vector<Arrangement> all;
  if (listed && photos) {
    all.push_back(sized(PairPlace::between_photos, beside));
    all.push_back(sized(PairPlace::between_photos, below));
  }
  const PairPlace last = listed ? PairPlace::below : PairPlace::nowhere;
  if (!listed) all.push_back(sized(last, beside));
  all.push_back(sized(last, below));
  for (const Arrangement& one : all) {
    if (one.side >= kComfortable * font_) return one;
  }
  if (all.back().side < kSmallest * font_ || (listed && entry() > inner())) {
    throw Error(ErrorKind::bad_input,
                "a figure " + number("%.0f", params_.width) +
                    " points wide has no room for text of " + number("%g", font_) +
                    " points: make it wider, or its text smaller",
                "width");
  }
  return all.back();
}

double Planner::height_of_column(const Arrangement& arrangement) const {
  const bool labels = arrangement.pairs == PairPlace::between_photos || arrows();
  if (!labels) return 0.0;
  return FigureLayout::pitch(font_) * static_cast<double>(contents_.pairs - 1) +
         FigureLayout::label(font_);
}

// Returns where the next thing may begin.
double Planner::place_pictures(FigureLayout& layout, const Arrangement& arrangement,
                               double y) const {
  const double side = arrangement.side;
  const double heat = arrangement.heat == HeatPlace::outside ? kHeatSide * side : side;
  const double left = FigureLayout::margin(font_);
  const double right = params_.width - left;
  const double source_width = side * contents_.source_aspect;
  const double target_width = side * contents_.target_aspect;
  constexpr double kScaleHeight = 0.7;
  constexpr double kScale = 3.6;  // with its numbers and their name
  double bottom = y;
  if (params_.panels.photos) {
    const double outside = arrangement.heat == HeatPlace::outside ? kHeatSide : 0.0;
    const double beside = outside > 0.0 ? between() : 0.0;
    const double row = std::max(side, height_of_column(arrangement));
    // The names stand above the photos, beside what is higher than these.
    y += std::max(0.0, names() - (row - side) / 2.0);
    const double top = y + (row - side) / 2.0;
    layout.source = {left + outside * source_width + beside, top, source_width, side};
    layout.target = {right - outside * target_width - beside - target_width, top, target_width,
                     side};
    layout.column = {layout.source.right(), y, layout.target.x - layout.source.right(), row};
    layout.names = top - 0.55 * font_;
    bottom = y + row;
  }
  if (arrangement.heat == HeatPlace::outside) {
    const double top = layout.source.y;
    layout.source_heat = {left, top, heat * contents_.source_aspect, heat};
    const double width = heat * contents_.target_aspect;
    layout.target_heat = {right - width, top, width, heat};
    for (const Rectangle& area : {layout.source_heat, layout.target_heat}) {
      layout.scales.push_back(
          {area.x, area.bottom() + 0.6 * font_, area.width, kScaleHeight * font_});
    }
  } else if (arrangement.heat == HeatPlace::below) {
    const double top = params_.panels.photos ? bottom + between() : y;
    layout.source_heat = {left, top, source_width, side};
    layout.target_heat = {right - target_width, top, target_width, side};
    const double width = std::min(0.6 * inner(), 24.0 * font_);
    const double below = top + side + 0.6 * font_;
    layout.scales = {{(params_.width - width) / 2.0, below, width, kScaleHeight * font_}};
    bottom = below + kScale * font_;
  }
  return bottom;
}

// Rows of numbers and formulas, one column under the other, in the middle.
double Planner::place_entries(FigureLayout& layout, double y) const {
  const std::size_t pairs = contents_.pairs;
  const double space = 2.0 * font_;
  const bool between = layout.place == PairPlace::between_photos;
  const auto fitting = static_cast<std::size_t>((inner() + space) / (entry() + space));
  const std::size_t columns =
      between ? 1 : std::clamp<std::size_t>(fitting, 1, std::min<std::size_t>(pairs, 3));
  const std::size_t rows = (pairs + columns - 1) / columns;
  const double pitch = FigureLayout::pitch(font_);
  const double width = static_cast<double>(columns) * (entry() + space) - space;
  const double left =
      between ? layout.column.middle_x() - entry() / 2.0 : (params_.width - width) / 2.0;
  const double height = pitch * static_cast<double>(rows - 1) + FigureLayout::label(font_);
  const double top = between ? layout.column.middle_y() - height / 2.0 : y + 0.8 * font_;
  for (std::size_t k = 0; k < pairs; ++k) {
    layout.entries.push_back({left + (entry() + space) * static_cast<double>(k / rows),
                              top + pitch * static_cast<double>(k % rows), entry(),
                              FigureLayout::label(font_)});
  }
  return between ? y : top + height;
}

FigureLayout Planner::layout() const {
  const Arrangement arrangement = chosen();
  FigureLayout layout;
  layout.width = params_.width;
  layout.place = arrangement.pairs;
  double y = FigureLayout::margin(font_);
  if (contents_.title_lines > 0) {
    layout.title = y + 1.2 * font_;
    y += (0.5 + 1.6 * static_cast<double>(contents_.title_lines)) * font_;
  }
  y = place_pictures(layout, arrangement, y);
  const bool listed =
      layout.place == PairPlace::below || (layout.place == PairPlace::between_photos && !arrows());
  if (listed) y = place_entries(layout, y);
  if (contents_.caption_lines > 0) {
    layout.caption = y + 1.9 * font_;
    y = layout.caption +
        FigureLayout::leading(font_) * static_cast<double>(contents_.caption_lines - 1) +
        0.3 * font_;
  }
  layout.height = std::ceil(y + FigureLayout::margin(font_));
  return layout;
}

}  // namespace

FigureLayout figure_layout(const FigureParams& params, const FigureContents& contents) {
  return Planner(params, contents).layout();
}

}  // namespace diml::explained
