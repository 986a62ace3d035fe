#include "svg_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/markup.h"
#include "diml/error.h"
#include "numbers.h"

namespace diml::explained {
namespace {

std::string colour_of(const Ink& ink) {
  const auto byte = [](double value) {
    return static_cast<unsigned int>(std::lround(255.0 * std::clamp(value, 0.0, 1.0)));
  };
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", byte(ink.red), byte(ink.green), byte(ink.blue));
  return text;
}

const char* anchor_of(Align align) {
  return align == Align::left ? "start" : align == Align::centre ? "middle" : "end";
}

}  // namespace

std::string svg_text(double x, double baseline, const std::vector<TextRun>& runs,
                     const TextStyle& style) {
  // The viewer's own fonts come last; its width of a text may differ, so that the anchor is where
  // the text is aligned.
  std::string element = "<text x=\"" + number("%.3f", x) + "\" y=\"" + number("%.3f", baseline) +
                        "\" font-family=\"" + kFontFamily + ", Arial, sans-serif\" font-size=\"" +
                        number("%.3f", style.size) + "\" text-anchor=\"" + anchor_of(style.align) +
                        "\" xml:space=\"preserve\"";
  const auto look_of = [](const TextRun& run) {
    return " fill=\"" + colour_of(run.ink) + "\"" + (run.bold ? " font-weight=\"bold\"" : "");
  };
  if (runs.size() == 1) {
    element += look_of(runs[0]) + ">" + markup_text(as_utf8(runs[0].text));
  } else {
    element += ">";
    for (const TextRun& run : runs) {
      element += "<tspan" + look_of(run) + ">" + markup_text(as_utf8(run.text)) + "</tspan>";
    }
  }
  return element + "</text>\n";
}

std::string with_svg_text(std::string svg, const std::string& elements) {
  const std::size_t end = svg.rfind("</svg>");
  if (end == std::string::npos) throw Error(ErrorKind::internal, "the SVG has no end");
  svg.insert(end, elements);
  return svg;
}

}  // namespace diml::explained
