#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cairo.h>

#include "diml/figure.h"

namespace diml::explained {

struct Ink {
  double red = 0.0;
  double green = 0.0;
  double blue = 0.0;
  double alpha = 1.0;
};

constexpr Ink kBlack{0.13, 0.13, 0.15};
constexpr Ink kGrey{0.42, 0.42, 0.45};
constexpr Ink kLight{0.85, 0.85, 0.87};
constexpr Ink kWhite{1.0, 1.0, 1.0};
constexpr Ink kRed{0.80, 0.08, 0.16};
constexpr Ink kBlue{0.10, 0.36, 0.76};

struct Rectangle {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

enum class Align : std::uint8_t { left, centre, right };

struct TextStyle {
  double size = 12.0;
  Ink ink = kBlack;
  Align align = Align::left;
  bool bold = false;
};

// One drawing, three kinds of file.
class Drawing {
 public:
  // In points; a PNG has two pixels a point, so that small type stays sharp.
  Drawing(PictureFormat format, double width, double height);

  cairo_t* cairo() const { return context_.get(); }
  void ink(Ink ink) const {
    cairo_set_source_rgba(cairo(), ink.red, ink.green, ink.blue, ink.alpha);
  }
  void fill(const Rectangle& area, Ink colour) const;
  void outline(const Rectangle& area, Ink colour, double width) const;
  void line(double x0, double y0, double x1, double y1, Ink colour, double width) const;

  void text(double x, double baseline, const std::string& text, const TextStyle& style) const;
  // Broken at spaces so that no line is wider; returns the baseline after the last one.
  double paragraph(double x, double baseline, double width, const std::string& text,
                   const TextStyle& style) const;
  double width_of(const std::string& text, const TextStyle& style) const;

  void photo(const Image& image, const Rectangle& area) const;
  // pixels: [rows, cols] of any values, one colour each; spread smoothly over the area.
  void heat(const std::vector<double>& values, GridShape shape, double largest,
            const Rectangle& area, double alpha) const;
  // The scale of heat(), from left to right.
  void heat_scale(const Rectangle& area) const;

  // Ends the drawing.
  std::string bytes();

 private:
  struct Ends {
    void operator()(cairo_t* context) const { cairo_destroy(context); }
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  };

  PictureFormat format_;
  std::unique_ptr<std::string> out_ = std::make_unique<std::string>();  // Cairo keeps its address
  std::unique_ptr<cairo_surface_t, Ends> surface_;
  std::unique_ptr<cairo_t, Ends> context_;
};

// Dark to bright; value from 0 to 1.
Ink heat_colour(double value);

Image grey(const Image& image);

}  // namespace diml::explained
