#include "drawing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <cairo-pdf.h>
#include <cairo-svg.h>

#include "colour_map.h"
#include "diml/error.h"
#include "png_density.h"
#include "svg_text.h"

namespace diml::explained {
namespace {

constexpr double kPointsOfInch = 72.0;

cairo_status_t append(void* out, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

cairo_surface_t* surface_of(PictureFormat format, double width, double height, double pixels,
                            std::string* out) {
  switch (format) {
    case PictureFormat::svg: {
      cairo_surface_t* surface = cairo_svg_surface_create_for_stream(append, out, width, height);
      cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PT);
      return surface;
    }
    case PictureFormat::pdf: {
      cairo_surface_t* surface = cairo_pdf_surface_create_for_stream(append, out, width, height);
      // What the checkers of journals accept; newer versions add nothing that a figure needs.
      cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_4);
      return surface;
    }
    default: {
      const auto dots = [pixels](double points) {
        return std::max(1, static_cast<int>(std::lround(points * pixels)));
      };
      return cairo_image_surface_create(CAIRO_FORMAT_RGB24, dots(width), dots(height));
    }
  }
}

using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;

Surface picture(cairo_format_t format, std::size_t width, std::size_t height,
                const std::vector<std::uint32_t>& pixels) {
  Surface surface(
      cairo_image_surface_create(format, static_cast<int>(width), static_cast<int>(height)),
      cairo_surface_destroy);
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) throw std::bad_alloc();
  unsigned char* data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (std::size_t y = 0; y < height; ++y) {
    std::memcpy(data + y * stride, &pixels[y * width], width * sizeof(std::uint32_t));
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

void paint(cairo_t* cairo, cairo_surface_t* surface, const Rectangle& area) {
  cairo_save(cairo);
  cairo_rectangle(cairo, area.x, area.y, area.width, area.height);
  cairo_clip(cairo);
  cairo_translate(cairo, area.x, area.y);
  cairo_scale(cairo, area.width / cairo_image_surface_get_width(surface),
              area.height / cairo_image_surface_get_height(surface));
  cairo_set_source_surface(cairo, surface, 0.0, 0.0);
  cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_GOOD);
  // Without it, pixels would fade at the edges. In SVG and PDF the image is embedded as a whole,
  // and cairo 1.18 would rasterise a padded one.
  if (cairo_surface_get_type(cairo_get_target(cairo)) == CAIRO_SURFACE_TYPE_IMAGE) {
    cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
  }
  cairo_paint(cairo);
  cairo_restore(cairo);
}

}  // namespace

Drawing::Drawing(PictureFormat format, double width, double height, double dots_per_inch)
    : format_(format),
      dots_per_inch_(dots_per_inch),
      surface_(surface_of(format, width, height, dots_per_inch / kPointsOfInch, out_.get())),
      context_(cairo_create(surface_.get())) {
  if (cairo_status(cairo()) != CAIRO_STATUS_SUCCESS) {
    throw Error(ErrorKind::out_of_resources, "a drawing of " + std::to_string(std::lround(width)) +
                                                 " x " + std::to_string(std::lround(height)) +
                                                 " points cannot be made: make it smaller");
  }
  if (format == PictureFormat::png) {
    cairo_scale(cairo(), dots_per_inch / kPointsOfInch, dots_per_inch / kPointsOfInch);
  }
  ink(kWhite);
  cairo_paint(cairo());  // all pixels: the last row may be a part of a point
  cairo_set_line_join(cairo(), CAIRO_LINE_JOIN_ROUND);
}

void Drawing::fill(const Rectangle& area, Ink colour) const {
  ink(colour);
  cairo_rectangle(cairo(), area.x, area.y, area.width, area.height);
  cairo_fill(cairo());
}

void Drawing::outline(const Rectangle& area, Ink colour, double width) const {
  ink(colour);
  cairo_set_line_width(cairo(), width);
  cairo_rectangle(cairo(), area.x, area.y, area.width, area.height);
  cairo_stroke(cairo());
}

void Drawing::line(double x0, double y0, double x1, double y1, Ink colour, double width) const {
  ink(colour);
  cairo_set_line_width(cairo(), width);
  cairo_move_to(cairo(), x0, y0);
  cairo_line_to(cairo(), x1, y1);
  cairo_stroke(cairo());
}

void Drawing::pill(const Rectangle& area) const {
  const double radius = area.height / 2.0;
  constexpr double kQuarter = std::numbers::pi / 2.0;
  cairo_new_path(cairo());
  cairo_arc(cairo(), area.right() - radius, area.middle_y(), radius, -kQuarter, kQuarter);
  cairo_arc(cairo(), area.x + radius, area.middle_y(), radius, kQuarter, 3.0 * kQuarter);
  cairo_close_path(cairo());
}

void Drawing::text(double x, double baseline, const std::string& text,
                   const TextStyle& style) const {
  this->text(x, baseline, std::vector<TextRun>{{text, style.ink, style.bold}}, style);
}

void Drawing::text(double x, double baseline, const std::vector<TextRun>& runs,
                   const TextStyle& style) const {
  if (format_ == PictureFormat::svg) {
    *svg_text_ += svg_text(x, baseline, runs, style);
    return;
  }
  std::vector<double> widths;
  double width = 0.0;
  for (const TextRun& run : runs) {
    widths.push_back(width_of(run.text, {style.size, run.ink, Align::left, run.bold}));
    width += widths.back();
  }
  double left = style.align == Align::left     ? x
                : style.align == Align::centre ? x - width / 2.0
                                               : x - width;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    show(left, baseline, runs[k], style.size);
    left += widths[k];
  }
}

void Drawing::show(double left, double baseline, const TextRun& run, double size) const {
  choose_font(cairo(), {size, run.ink, Align::left, run.bold});
  ink(run.ink);
  cairo_move_to(cairo(), left, baseline);
  cairo_show_text(cairo(), as_utf8(run.text).c_str());
  cairo_new_path(cairo());  // text leaves a current point, at which the next line would start
}

void Drawing::photo(const Image& image, const Rectangle& area) const {
  std::vector<std::uint32_t> pixels(image.width * image.height);
  for (std::size_t p = 0; p < pixels.size(); ++p) {
    pixels[p] = static_cast<std::uint32_t>(image.pixels[3 * p] << 16 |
                                           image.pixels[3 * p + 1] << 8 | image.pixels[3 * p + 2]);
  }
  const Surface surface = picture(CAIRO_FORMAT_RGB24, image.width, image.height, pixels);
  if (format_ != PictureFormat::png) {
    // SVG and PDF embed the JPEG file itself: a tenth of the bytes.
    constexpr int kQuality = 92;
    auto* jpeg = new std::vector<std::uint8_t>(encode_jpeg(image, kQuality));
    const auto forget = [](void* bytes) { delete static_cast<std::vector<std::uint8_t>*>(bytes); };
    if (cairo_surface_set_mime_data(surface.get(), CAIRO_MIME_TYPE_JPEG, jpeg->data(), jpeg->size(),
                                    forget, jpeg) != CAIRO_STATUS_SUCCESS) {
      forget(jpeg);
    }
  }
  paint(cairo(), surface.get(), area);
}

void Drawing::heat(const std::vector<double>& values, GridShape shape, double largest,
                   const Rectangle& area) const {
  const double width = area.width / static_cast<double>(shape.cols);
  const double height = area.height / static_cast<double>(shape.rows);
  for (std::size_t cell = 0; cell < shape.count(); ++cell) {
    const double x = area.x + width * static_cast<double>(cell % shape.cols);
    const double y = area.y + height * static_cast<double>(cell / shape.cols);
    // Down to the corner, and painted over by the next cells: viewers would let the white below
    // shine through between two cells that only touch.
    fill({x, y, area.right() - x, area.bottom() - y}, heat_colour(values[cell] / largest));
  }
}

void Drawing::heat_scale(const Rectangle& area) const {
  constexpr int kStops = 64;
  cairo_pattern_t* shades =
      cairo_pattern_create_linear(area.x, area.y, area.x + area.width, area.y);
  for (int stop = 0; stop <= kStops; ++stop) {
    const double at = static_cast<double>(stop) / kStops;
    const Ink colour = heat_colour(at);
    cairo_pattern_add_color_stop_rgb(shades, at, colour.red, colour.green, colour.blue);
  }
  cairo_rectangle(cairo(), area.x, area.y, area.width, area.height);
  cairo_set_source(cairo(), shades);
  cairo_fill(cairo());
  cairo_pattern_destroy(shades);
}

std::string Drawing::bytes() {
  cairo_show_page(cairo());
  if (format_ == PictureFormat::png) {
    cairo_surface_flush(surface_.get());
    cairo_surface_write_to_png_stream(surface_.get(), append, out_.get());
  }
  const cairo_status_t drawn = cairo_status(cairo());
  context_.reset();
  cairo_surface_finish(surface_.get());
  const cairo_status_t written = cairo_surface_status(surface_.get());
  for (const cairo_status_t status : {drawn, written}) {
    // A finished PNG surface has its own status; any other status is a failure.
    if (status != CAIRO_STATUS_SUCCESS && status != CAIRO_STATUS_SURFACE_FINISHED) {
      throw Error(
          status == CAIRO_STATUS_NO_MEMORY ? ErrorKind::out_of_resources : ErrorKind::internal,
          std::string("the drawing failed: ") + cairo_status_to_string(status));
    }
  }
  if (format_ == PictureFormat::svg) return with_svg_text(std::move(*out_), *svg_text_);
  if (format_ == PictureFormat::png) return with_density(std::move(*out_), dots_per_inch_);
  return std::move(*out_);
}

}  // namespace diml::explained
