#include "diml/figure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/enum_names.h"
#include "diml/error.h"
#include "figure_panels.h"
#include "numbers.h"

namespace diml {
namespace {

using namespace explained;  // NOLINT(google-build-using-namespace): the parts of this file

constexpr EnumNames<3> kStyles = {"arrows", "numbered", "regions"};
constexpr EnumNames<3> kPanels = {"photos", "weights", "pairs"};

void expect_possible(const Image& source, const Image& target, const FigureParams& params) {
  if (params.strongest + params.weakest > kMostArrows) {
    throw Error("a figure can show " + std::to_string(kMostArrows) +
                " pairs of both colours at most: ask for fewer");
  }
  if (source.pixels.empty() || target.pixels.empty()) throw Error("a figure needs both images");
  if (!params.panels.photos && !params.panels.weights && !params.panels.pairs) {
    throw Error(ErrorKind::bad_input, "a figure needs one of its panels: photos, weights, pairs",
                "panels");
  }
  const auto expect_between = [](double value, double low, double high, const char* what,
                                 const char* unit, const char* parameter) {
    if (value >= low && value <= high) return;  // not true of NaN
    throw Error(ErrorKind::bad_input,
                std::string(what) + " " + number("%g", value) + unit + ": it may be " +
                    number("%g", low) + " to " + number("%g", high),
                parameter);
  };
  expect_between(params.font_size, 3.0, 72.0, "a figure's text of", " points", "font_size");
  expect_between(params.width, 72.0, 3600.0, "a figure's width of", " points", "width");
  expect_between(params.dots_per_inch, 36.0, 2400.0, "a resolution of", " dots per inch", "dpi");
}

// A network's crop is square; other pictures keep their aspect ratio, within limits.
double aspect_of(const Image& image) {
  return std::clamp(static_cast<double>(image.width) / static_cast<double>(image.height), 0.5, 2.0);
}

// Both similarities, in one line where there is room.
std::vector<std::vector<TextRun>> title_of(const Explanation& why, const TextRuler& ruler,
                                           double width, const TextStyle& style) {
  const TextRun first{"structural similarity " + number("%.3f", why.score), kBlack, true};
  const TextRun second{"cosine similarity " + number("%.3f", why.cosine), kGrey};
  const std::string space = "   ";
  TextStyle bold = style;
  bold.bold = true;
  if (ruler.width(first.text, bold) + ruler.width(space + second.text, style) > width) {
    return {{first}, {second}};
  }
  return {{first, {space + second.text, second.ink}}};
}

}  // namespace

FigureStyle figure_style_named(std::string_view name) {
  return value_in<FigureStyle>(kStyles, name, "style");
}

FigurePanels figure_panels_named(std::string_view names) {
  std::array<bool, kPanels.size()> asked{};
  while (true) {
    const std::size_t comma = names.find(',');
    asked[value_in<std::size_t>(kPanels, names.substr(0, comma), "panel")] = true;
    if (comma == std::string_view::npos) break;
    names.remove_prefix(comma + 1);
  }
  return {asked[0], asked[1], asked[2]};
}

std::string draw_figure(const Explanation& why, const Image& source, const Image& target,
                        PictureFormat format, const FigureParams& params) {
  expect_possible(source, target, params);
  const std::vector<ShownPair> shown = shown_pairs(why, params);
  const TextStyle text{params.font_size};
  const TextRuler ruler;
  FigureContents contents{aspect_of(source), aspect_of(target), shown.size()};
  contents.share_width = ruler.width("00.0 %", text);
  for (const ShownPair& one : shown) {
    contents.formula_width = std::max(contents.formula_width, ruler.width(label_of(one), text));
    contents.share_width =
        std::max(contents.share_width, ruler.width(percent(one.pair->share), text));
  }
  const double inner = params.width - 2.0 * FigureLayout::margin(params.font_size);
  const TextStyle title_style{1.15 * params.font_size, kBlack, Align::centre};
  std::vector<std::vector<TextRun>> title;
  if (params.title) title = title_of(why, ruler, inner, title_style);
  contents.title_lines = title.size();
  std::vector<std::string> caption;
  if (params.caption) {
    caption = ruler.wrapped(caption_of(why, shown, params), inner, text);
  }
  contents.caption_lines = caption.size();
  const FigureLayout layout = figure_layout(params, contents);
  Drawing drawing(format, layout.width, layout.height, params.dots_per_inch);
  const FigurePainter painter{drawing, layout, why, params, shown};
  for (std::size_t k = 0; k < title.size(); ++k) {
    drawing.text(layout.width / 2.0, layout.title + 1.6 * params.font_size * static_cast<double>(k),
                 title[k], title_style);
  }
  if (params.panels.weights) painter.weights();
  if (params.panels.photos) {
    painter.photo(source, layout.source, why.source, params.source_name);
    painter.photo(target, layout.target, why.target, params.target_name);
    params.style == FigureStyle::numbered ? painter.numbers() : painter.arrows();
  }
  painter.entries();
  for (std::size_t k = 0; k < caption.size(); ++k) {
    const double y =
        layout.caption + FigureLayout::leading(params.font_size) * static_cast<double>(k);
    drawing.text(FigureLayout::margin(params.font_size), y, caption[k], text);
  }
  return drawing.bytes();
}

}  // namespace diml
