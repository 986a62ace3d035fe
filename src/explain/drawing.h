#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cairo.h>

#include "diml/figure.h"
#include "ink.h"
#include "text_ruler.h"

namespace diml::explained {

struct Rectangle {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;

  double middle_x() const { return x + width / 2.0; }
  double middle_y() const { return y + height / 2.0; }
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

// A piece of a line of text with its own ink and weight.
struct TextRun {
  std::string text;
  Ink ink = kBlack;
  bool bold = false;
};

// One drawing, three kinds of file. Text stays text: a PDF embeds its fonts, an SVG has <text>
// elements, which lie above everything else, in whatever order the calls come.
class Drawing {
 public:
  // In points; dots_per_inch gives a PNG its pixels, and is written into it.
  Drawing(PictureFormat format, double width, double height, double dots_per_inch = 144.0);

  cairo_t* cairo() const { return context_.get(); }
  void ink(Ink ink) const {
    cairo_set_source_rgba(cairo(), ink.red, ink.green, ink.blue, ink.alpha);
  }
  void fill(const Rectangle& area, Ink colour) const;
  void outline(const Rectangle& area, Ink colour, double width) const;
  void line(double x0, double y0, double x1, double y1, Ink colour, double width) const;
  // A path with half circles at its left and right end; a circle where width == height.
  void pill(const Rectangle& area) const;

  void text(double x, double baseline, const std::string& text, const TextStyle& style) const;
  // Pieces one after the other, aligned as a whole; the style gives size and alignment.
  void text(double x, double baseline, const std::vector<TextRun>& runs,
            const TextStyle& style) const;
  double width_of(const std::string& text, const TextStyle& style) const {
    return ruler_.width(text, style);
  }

  void photo(const Image& image, const Rectangle& area) const;
  // One colour of heat_colour() for each cell, opaque: the colours are those of heat_scale().
  void heat(const std::vector<double>& values, GridShape shape, double largest,
            const Rectangle& area) const;
  // The scale of heat(), from left to right.
  void heat_scale(const Rectangle& area) const;

  // Finishes the drawing.
  std::string bytes();

 private:
  struct Ends {
    void operator()(cairo_t* context) const { cairo_destroy(context); }
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  };

  void show(double left, double baseline, const TextRun& run, double size) const;

  PictureFormat format_;
  double dots_per_inch_;
  TextRuler ruler_;
  std::unique_ptr<std::string> out_ = std::make_unique<std::string>();  // Cairo keeps its address
  std::unique_ptr<std::string> svg_text_ = std::make_unique<std::string>();
  std::unique_ptr<cairo_surface_t, Ends> surface_;
  std::unique_ptr<cairo_t, Ends> context_;
};

}  // namespace diml::explained
