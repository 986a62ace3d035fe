#include "canvas.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "diml/error.h"

namespace diml::critters {

Canvas::Canvas(std::size_t size)
    : size_(size),
      surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(size),
                                          static_cast<int>(size))),
      context_(cairo_create(surface_.get())) {
  if (cairo_status(context_.get()) != CAIRO_STATUS_SUCCESS) {
    throw Error(ErrorKind::out_of_resources, "a picture of " + std::to_string(size) +
                                                 " pixels a side cannot be drawn: make it smaller");
  }
}

void Canvas::colour(Colour colour, double shade, double alpha) const {
  cairo_set_source_rgba(cairo(), colour.red * shade, colour.green * shade, colour.blue * shade,
                        alpha);
}

void Canvas::ellipse(double x, double y, double width, double height, double angle) const {
  const Frame frame(*this, x, y, angle);
  cairo_scale(cairo(), width / 2.0, height / 2.0);
  cairo_new_sub_path(cairo());
  cairo_arc(cairo(), 0.0, 0.0, 1.0, 0.0, 2.0 * std::numbers::pi);
  cairo_close_path(cairo());
}

// Through the middles of the sides, with the corners as control points.
void Canvas::polygon(const std::vector<std::array<double, 2>>& points) const {
  const std::size_t count = points.size();
  const auto middle = [&](std::size_t k) {
    const auto& a = points[k % count];
    const auto& b = points[(k + 1) % count];
    return std::array<double, 2>{(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0};
  };
  const auto start = middle(count - 1);
  cairo_new_sub_path(cairo());
  cairo_move_to(cairo(), start[0], start[1]);
  for (std::size_t k = 0; k < count; ++k) {
    const auto from = middle(k + count - 1);
    const auto& corner = points[k];
    const auto to = middle(k);
    constexpr double kPull = 0.8;  // of the control points towards the corner
    cairo_curve_to(cairo(), from[0] + kPull * (corner[0] - from[0]),
                   from[1] + kPull * (corner[1] - from[1]), to[0] + kPull * (corner[0] - to[0]),
                   to[1] + kPull * (corner[1] - to[1]), to[0], to[1]);
  }
  cairo_close_path(cairo());
}

void Canvas::fill() const { cairo_fill(cairo()); }

void Canvas::fill_and_outline(double width) const {
  cairo_fill_preserve(cairo());
  double red = 0.0;
  double green = 0.0;
  double blue = 0.0;
  cairo_pattern_get_rgba(cairo_get_source(cairo()), &red, &green, &blue, nullptr);
  cairo_set_source_rgb(cairo(), 0.45 * red, 0.45 * green, 0.45 * blue);
  cairo_set_line_width(cairo(), width);
  cairo_stroke(cairo());
}

Image Canvas::image() const {
  cairo_surface_flush(surface_.get());
  const unsigned char* data = cairo_image_surface_get_data(surface_.get());
  const int stride = cairo_image_surface_get_stride(surface_.get());
  Image image{size_, size_, std::vector<std::uint8_t>(size_ * size_ * 3)};
  for (std::size_t y = 0; y < size_; ++y) {
    for (std::size_t x = 0; x < size_; ++x) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, data + y * static_cast<std::size_t>(stride) + 4 * x, sizeof(pixel));
      for (int channel = 0; channel < 3; ++channel) {
        image.at(x, y)[channel] = static_cast<std::uint8_t>(pixel >> (16 - 8 * channel));
      }
    }
  }
  return image;
}

}  // namespace diml::critters
