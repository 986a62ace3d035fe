#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diml::experiments {

struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Stroke {
  std::string_view colour;
  double width = 1.0;
  std::string_view dashes{};
};

enum class Anchor : std::uint8_t { start, middle, end };

struct TextStyle {
  double size = 12.0;
  std::string_view colour = "#222226";
  Anchor anchor = Anchor::start;
  bool bold = false;
};

enum class Marker : std::uint8_t { circle, square, diamond, triangle };
enum class Inside : std::uint8_t { filled, hollow };

// Estimated width in a sans-serif font; rather too large, as the reader's font is unknown.
double width_of(std::string_view text, double size);

// Breaks the text at spaces into lines of at most `width`.
std::vector<std::string> wrapped(const std::string& text, double size, double width);

// An SVG file with a white background, for dark pages too.
class Svg {
 public:
  explicit Svg(std::string title) : title_(std::move(title)) {}

  void line(Point from, Point to, const Stroke& stroke);
  void polyline(const std::vector<Point>& points, const Stroke& stroke);
  void marker(Point at, Marker marker, Inside inside, std::string_view colour);
  void text(Point at, std::string_view text, const TextStyle& style);

  // The whole file.
  std::string file(double width, double height) const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace diml::experiments
