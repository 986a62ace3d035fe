#pragma once

#include <memory>
#include <vector>

#include <cairo.h>

#include "diml/image.h"
#include "species.h"

namespace diml::critters {

// A Cairo surface with the few operations that drawing a creature needs. Angles in radians; y
// points down.
class Canvas {
 public:
  explicit Canvas(std::size_t size);

  cairo_t* cairo() const { return context_.get(); }
  std::size_t size() const { return size_; }

  void colour(Colour colour, double shade = 1.0, double alpha = 1.0) const;
  void ellipse(double x, double y, double width, double height,
               double angle = 0.0) const;                                // a path
  void polygon(const std::vector<std::array<double, 2>>& points) const;  // a smooth, closed path
  void fill() const;
  void fill_and_outline(double width) const;  // filled with the colour, outlined in a darker one

  Image image() const;

 private:
  struct Free {
    void operator()(cairo_t* context) const { cairo_destroy(context); }
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  };
  std::size_t size_;
  std::unique_ptr<cairo_surface_t, Free> surface_;
  std::unique_ptr<cairo_t, Free> context_;
};

// Saves the coordinate system and restores it.
class Frame {
 public:
  Frame(const Canvas& canvas, double x, double y, double angle) : cairo_(canvas.cairo()) {
    cairo_save(cairo_);
    cairo_translate(cairo_, x, y);
    cairo_rotate(cairo_, angle);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { cairo_restore(cairo_); }

 private:
  cairo_t* cairo_;
};

}  // namespace diml::critters
