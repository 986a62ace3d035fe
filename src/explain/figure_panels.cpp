#include "figure_panels.h"

#include <algorithm>
#include <cmath>

#include "arrow_routes.h"
#include "diml/error.h"
#include "number_places.h"
#include "numbers.h"
#include "region_outline.h"

namespace diml::explained {
namespace {

std::vector<double> times_even(const std::vector<double>& marginal) {
  std::vector<double> weights = marginal;
  for (double& weight : weights) weight *= static_cast<double>(marginal.size());
  return weights;
}

}  // namespace

void FigurePainter::photo(const Image& image, const Rectangle& area, GridShape shape,
                          const std::string& name) const {
  drawing.photo(image, area);
  constexpr Ink kFaint{1.0, 1.0, 1.0, 0.4};
  for (std::size_t c = 1; c < shape.cols; ++c) {
    const double x = cell_of(area, shape, c).x;
    drawing.line(x, area.y, x, area.bottom(), kFaint, stroke(0.4));
  }
  for (std::size_t r = 1; r < shape.rows; ++r) {
    const double y = cell_of(area, shape, r * shape.cols).y;
    drawing.line(area.x, y, area.right(), y, kFaint, stroke(0.4));
  }
  const TextStyle style = text(kBlack, Align::centre);
  if (!name.empty()) {
    drawing.text(area.middle_x(), layout.names, TextRuler().shortened(name, area.width, style),
                 style);
  }
}

void FigurePainter::scale(const Rectangle& bar, double largest) const {
  drawing.heat_scale(bar);
  const double below = bar.bottom() + 1.25 * font();
  const std::string most = number("%.1f", largest);
  const double one = bar.x + bar.width / largest;
  const double zero_width = drawing.width_of("0", text());
  const double most_width = drawing.width_of(most, text());
  const double one_half = drawing.width_of("1", text()) / 2.0 + 0.4 * font();
  drawing.text(bar.x, below, "0", text(kGrey));
  drawing.text(bar.right(), below, most, text(kGrey, Align::right));
  // The mark of an even weight; its number where it does not touch the others.
  drawing.line(one, bar.bottom(), one, bar.bottom() + 0.3 * font(), kGrey, stroke(0.6));
  if (one - one_half > bar.x + zero_width && one + one_half < bar.right() - most_width) {
    drawing.text(one, below, "1", text(kGrey, Align::centre));
  }
  for (const char* name : {"weight of each part (1 = even)", "weight (1 = even)", "weight"}) {
    if (drawing.width_of(name, text()) > bar.width) continue;
    drawing.text(bar.middle_x(), below + 1.2 * font(), name, text(kGrey, Align::centre));
    break;
  }
}

void FigurePainter::weights() const {
  const std::vector<double> source = times_even(why.source_marginal);
  const std::vector<double> target = times_even(why.target_marginal);
  // One scale for both; uniform weights are not its brightest colour. Rounded up to what the scale
  // says.
  const double peak = std::max(*std::max_element(source.begin(), source.end()),
                               *std::max_element(target.begin(), target.end()));
  const double largest = std::max(1.5, std::ceil(10.0 * peak - 1e-9) / 10.0);
  drawing.heat(source, why.source, largest, layout.source_heat);
  drawing.heat(target, why.target, largest, layout.target_heat);
  for (const Rectangle& bar : layout.scales) scale(bar, largest);
}

double FigurePainter::badge_width(const ShownPair& one) const {
  const TextStyle style = text(kWhite, Align::centre, true);
  return std::max(FigureLayout::badge(font()),
                  drawing.width_of(std::to_string(one.number), style) + 0.55 * font());
}

void FigurePainter::badge(const Rectangle& area, const ShownPair& one) const {
  drawing.pill(area);
  drawing.ink(one.ink());
  cairo_fill_preserve(drawing.cairo());
  drawing.ink(kWhite);
  cairo_set_line_width(drawing.cairo(), stroke(0.6));
  cairo_stroke(drawing.cairo());
  drawing.text(area.middle_x(), baseline(area.middle_y()), std::to_string(one.number),
               text(kWhite, Align::centre, true));
}

void FigurePainter::outline_region(const std::vector<Side>& sides, Ink ink, double width) const {
  drawing.ink(ink);
  cairo_t* cairo = drawing.cairo();
  cairo_save(cairo);
  cairo_set_line_cap(cairo, CAIRO_LINE_CAP_SQUARE);
  cairo_set_line_width(cairo, width);
  for (const Side& side : sides) {
    cairo_move_to(cairo, side.x0, side.y0);
    cairo_line_to(cairo, side.x1, side.y1);
  }
  cairo_stroke(cairo);
  cairo_restore(cairo);
}

// The frame of a region runs within it, and within those of stronger regions that share cells with
// it: none hides another.
double FigurePainter::inset_of(const ShownPair& one, const Rectangle& cell, bool source) const {
  const auto cells_of = [source](const ShownPair& pair) -> const std::vector<std::size_t>& {
    return source ? pair.region->source : pair.region->target;
  };
  const std::vector<std::size_t>& cells = cells_of(one);
  double stronger = 0.0;
  for (const ShownPair& other : shown) {
    if (&other == &one) break;
    const std::vector<std::size_t>& others = cells_of(other);
    stronger += std::find_first_of(others.begin(), others.end(), cells.begin(), cells.end()) !=
                others.end();
  }
  const double first = stroke(0.7);
  const double most = 0.4 * std::min(cell.width, cell.height);  // the frame stays one
  const double step = std::min(stroke(2.1), (most - first) / static_cast<double>(shown.size()));
  return first + std::max(0.0, step) * stronger;
}

void FigurePainter::mark_cells(const Rectangle& area, GridShape shape, bool source) const {
  // The strongest is drawn last, on top.
  std::for_each(shown.rbegin(), shown.rend(), [&](const ShownPair& one) {
    if (one.region != nullptr) {
      const std::vector<std::size_t>& cells = source ? one.region->source : one.region->target;
      const double inset = inset_of(one, cell_of(area, shape, 0), source);
      const std::vector<Side> sides = region_outline(area, shape, cells, inset);
      outline_region(sides, {1.0, 1.0, 1.0, 0.9}, stroke(2.8));
      outline_region(sides, one.ink(), stroke(1.4));
      return;
    }
    const Rectangle cell = cell_of(area, shape, source ? one.pair->source : one.pair->target);
    const double inset = stroke(0.6);
    const Rectangle inner{cell.x + inset, cell.y + inset, cell.width - 2.0 * inset,
                          cell.height - 2.0 * inset};
    drawing.outline(inner, {1.0, 1.0, 1.0, 0.9}, stroke(2.2));
    drawing.outline(inner, one.ink(), stroke(1.2));
  });
}

void FigurePainter::arrows() const {
  mark_cells(layout.source, why.source, true);
  mark_cells(layout.target, why.target, false);
  const bool formulas = layout.place == PairPlace::between_photos;
  double width = FigureLayout::badge(font());
  for (const ShownPair& one : shown) width = std::max(width, badge_width(one));
  if (formulas) {
    double widest = 0.0;
    for (const ShownPair& one : shown) {
      widest = std::max(widest, drawing.width_of(label_of(one), text()));
    }
    width += widest + font();
  }
  const double left = layout.column.middle_x() - width / 2.0;
  const double right = left + width;
  std::vector<RouteEnds> ends;
  for (const ShownPair& one : shown) {
    ends.push_back({cell_of(layout.source, why.source, one.pair->source),
                    cell_of(layout.target, why.target, one.pair->target)});
  }
  const double half = FigureLayout::label(font()) / 2.0;
  const std::vector<Route> routes = arrow_routes(
      ends, FigureLayout::pitch(font()), layout.column.y + half, layout.column.bottom() - half);
  cairo_t* cairo = drawing.cairo();
  for (std::size_t k = shown.size(); k-- > 0;) {
    const Route& route = routes[k];
    const double thick = stroke(0.7 + 0.9 * shown[k].weight);
    const double head = stroke(2.6) + 1.6 * thick;
    const double neck = route.x1 - 0.8 * head;
    // A white rim separates it from the photo and from arrows that it crosses.
    for (const bool rim : {true, false}) {
      const double grown = rim ? stroke(0.6) : 0.0;
      drawing.ink(rim ? kWhite : shown[k].ink());
      cairo_set_line_width(cairo, thick + 2.0 * grown);
      const double out = 0.5 * (left - route.x0);
      cairo_move_to(cairo, route.x0, route.y0);
      cairo_curve_to(cairo, route.x0 + out, route.y0, left - out, route.label, left, route.label);
      const double in = 0.5 * (neck - right);
      cairo_move_to(cairo, right, route.label);
      cairo_curve_to(cairo, right + in, route.label, neck - in, route.y1, neck, route.y1);
      cairo_stroke(cairo);
      cairo_move_to(cairo, route.x1 + 1.5 * grown, route.y1);
      cairo_line_to(cairo, route.x1 - head - grown, route.y1 - 0.46 * head - grown);
      cairo_line_to(cairo, neck, route.y1);
      cairo_line_to(cairo, route.x1 - head - grown, route.y1 + 0.46 * head + grown);
      cairo_close_path(cairo);
      cairo_fill(cairo);
      const double radius = 0.9 * thick + stroke(0.6) + grown;
      drawing.pill({route.x0 - radius, route.y0 - radius, 2.0 * radius, 2.0 * radius});
      cairo_fill(cairo);
    }
  }
  for (std::size_t k = 0; k < shown.size(); ++k) {
    const double y = routes[k].label;
    const double number_width = badge_width(shown[k]);
    if (formulas) {
      drawing.pill({left, y - half, width, 2.0 * half});
      drawing.ink(kWhite);
      cairo_fill_preserve(cairo);
      drawing.ink(shown[k].ink());
      cairo_set_line_width(cairo, stroke(0.8));
      cairo_stroke(cairo);
      drawing.text(right - 0.7 * font(), baseline(y), label_of(shown[k]),
                   text(shown[k].ink(), Align::right));
    }
    const double inset =
        formulas ? half - FigureLayout::badge(font()) / 2.0 : (width - number_width) / 2.0;
    badge({left + inset, y - FigureLayout::badge(font()) / 2.0, number_width,
           FigureLayout::badge(font())},
          shown[k]);
  }
}

void FigurePainter::numbers_in(const Rectangle& area, GridShape shape, bool source) const {
  mark_cells(area, shape, source);
  const double high = FigureLayout::badge(font());
  std::vector<Rectangle> cells;
  std::vector<Rectangle> wanted;
  for (const ShownPair& one : shown) {
    cells.push_back(cell_of(area, shape, source ? one.pair->source : one.pair->target));
    // On the upper left corner, which hides little of the part.
    const double wide = badge_width(one);
    wanted.push_back({cells.back().x - 0.35 * wide, cells.back().y - 0.35 * high, wide, high});
  }
  const auto found = pushed_apart(wanted, area);
  if (!found) {
    throw Error(ErrorKind::bad_input,
                "a photo " + number("%.0f", area.width) + " points wide has no room for " +
                    std::to_string(shown.size()) +
                    " numbers: make the figure wider, or ask for fewer pairs",
                "width");
  }
  const std::vector<Rectangle>& places = *found;
  for (std::size_t k = shown.size(); k-- > 0;) {
    const Rectangle& cell = cells[k];
    const Rectangle& place = places[k];
    const bool apart = place.x > cell.right() || place.right() < cell.x ||
                       place.y > cell.bottom() || place.bottom() < cell.y;
    if (!apart) continue;
    for (const bool rim : {true, false}) {
      drawing.line(place.middle_x(), place.middle_y(), cell.middle_x(), cell.middle_y(),
                   rim ? kWhite : shown[k].ink(), stroke(rim ? 1.8 : 0.8));
    }
  }
  for (std::size_t k = shown.size(); k-- > 0;) badge(places[k], shown[k]);
}

void FigurePainter::numbers() const {
  numbers_in(layout.source, why.source, true);
  numbers_in(layout.target, why.target, false);
}

void FigurePainter::entries() const {
  for (std::size_t k = 0; k < layout.entries.size(); ++k) {
    const Rectangle& area = layout.entries[k];
    const double y = area.middle_y();
    const double high = FigureLayout::badge(font());
    badge({area.x, y - high / 2.0, badge_width(shown[k]), high}, shown[k]);
    const std::string share = percent(shown[k].pair->share);
    drawing.text(area.x + high + 0.6 * font(), baseline(y), label_of(shown[k]), text());
    drawing.text(area.right(), baseline(y), share, text(kGrey, Align::right));
  }
}

}  // namespace diml::explained
