#include "svg.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "base/markup.h"

namespace diml::experiments {
namespace {

constexpr double kRadius = 4.2;

// At most two decimals, in any locale.
std::string coordinate(double value) {
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 2);
  std::string digits(text.data(), end.ptr);
  while (digits.ends_with('0')) digits.pop_back();
  if (digits.ends_with('.')) digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

std::string attribute(std::string_view name, std::string_view value) {
  std::string text = " ";
  text += name;
  text += "=\"";
  text += value;
  text += "\"";
  return text;
}

std::string attribute(std::string_view name, double value) {
  return attribute(name, coordinate(value));
}

std::string stroked(const Stroke& stroke) {
  std::string text = attribute("stroke", stroke.colour) + attribute("stroke-width", stroke.width);
  if (!stroke.dashes.empty()) text += attribute("stroke-dasharray", stroke.dashes);
  return text;
}

std::string listed(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    if (!text.empty()) text += ' ';
    text += coordinate(point.x) + "," + coordinate(point.y);
  }
  return text;
}

// All shapes have about the same area.
std::vector<Point> corners(Point at, Marker marker) {
  const double r = kRadius;
  if (marker == Marker::square) {
    const double h = 0.88 * r;
    return {{at.x - h, at.y - h}, {at.x + h, at.y - h}, {at.x + h, at.y + h}, {at.x - h, at.y + h}};
  }
  if (marker == Marker::diamond) {
    const double h = 1.25 * r;
    return {{at.x, at.y - h}, {at.x + h, at.y}, {at.x, at.y + h}, {at.x - h, at.y}};
  }
  return {{at.x, at.y - 1.25 * r},
          {at.x + 1.15 * r, at.y + 0.8 * r},
          {at.x - 1.15 * r, at.y + 0.8 * r}};
}

}  // namespace

double width_of(std::string_view text, double size) {
  double ems = 0.0;
  for (const char letter : text) {
    if ((static_cast<unsigned char>(letter) & 0xC0) == 0x80) continue;  // UTF-8 continuation
    if (std::string_view("ijltfr.,:;|'()[] -").find(letter) != std::string_view::npos) {
      ems += 0.36;
    } else if (std::string_view("mwMW@%").find(letter) != std::string_view::npos) {
      ems += 0.9;
    } else {
      ems += letter >= 'A' && letter <= 'Z' ? 0.7 : 0.58;
    }
  }
  return ems * size;
}

std::vector<std::string> wrapped(const std::string& text, double size, double width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string longer = lines.empty() ? word : lines.back() + " " + word;
    if (!lines.empty() && width_of(longer, size) <= width) {
      lines.back() = longer;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

void Svg::line(Point from, Point to, const Stroke& stroke) {
  body_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
           attribute("y2", to.y) + stroked(stroke) + "/>\n";
}

void Svg::polyline(const std::vector<Point>& points, const Stroke& stroke) {
  if (points.size() < 2) return;
  body_ += "<polyline" + attribute("points", listed(points)) + attribute("fill", "none") +
           stroked(stroke) + attribute("stroke-linejoin", "round") + "/>\n";
}

void Svg::marker(Point at, Marker marker, Inside inside, std::string_view colour) {
  const std::string ink = attribute("fill", inside == Inside::filled ? colour : "#ffffff") +
                          stroked({colour, 1.6}) + "/>\n";
  if (marker == Marker::circle) {
    body_ +=
        "<circle" + attribute("cx", at.x) + attribute("cy", at.y) + attribute("r", kRadius) + ink;
  } else {
    body_ += "<polygon" + attribute("points", listed(corners(at, marker))) + ink;
  }
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  body_ += "<text" + attribute("x", at.x) + attribute("y", at.y) +
           attribute("font-size", style.size) + attribute("fill", style.colour);
  if (style.anchor != Anchor::start) {
    body_ += attribute("text-anchor", style.anchor == Anchor::middle ? "middle" : "end");
  }
  if (style.bold) body_ += attribute("font-weight", "bold");
  body_ += ">";
  body_ += markup_text(text) + "</text>\n";
}

std::string Svg::file(double width, double height) const {
  std::string size = coordinate(width) + " " + coordinate(height);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg" +
         attribute("xmlns", "http://www.w3.org/2000/svg") + attribute("width", width) +
         attribute("height", height) + attribute("viewBox", "0 0 " + size) +
         attribute("role", "img") +
         attribute("font-family", "Helvetica, Arial, 'Liberation Sans', sans-serif") +
         ">\n<title>" + markup_text(title_) + "</title>\n<rect" + attribute("width", width) +
         attribute("height", height) + attribute("fill", "#ffffff") + "/>\n" + body_ + "</svg>\n";
}

}  // namespace diml::experiments
