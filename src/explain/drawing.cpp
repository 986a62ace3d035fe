#include "drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <sstream>

#include <cairo-pdf.h>
#include <cairo-svg.h>

#include "diml/error.h"

namespace diml::explained {
namespace {

constexpr double kPixelsOfPoint = 2.0;

cairo_status_t append(void* out, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

cairo_surface_t* surface_of(PictureFormat format, double width, double height, std::string* out) {
  switch (format) {
    case PictureFormat::svg:
      return cairo_svg_surface_create_for_stream(append, out, width, height);
    case PictureFormat::pdf:
      return cairo_pdf_surface_create_for_stream(append, out, width, height);
    default:
      return cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                        static_cast<int>(std::ceil(width * kPixelsOfPoint)),
                                        static_cast<int>(std::ceil(height * kPixelsOfPoint)));
  }
}

void choose_font(cairo_t* cairo, const TextStyle& style) {
  cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, style.size);
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
  // Pixels would fade at the edges without it. In SVG and PDF the image is a whole, and cairo 1.18
  // would draw one that is padded as pixels again.
  if (cairo_surface_get_type(cairo_get_target(cairo)) == CAIRO_SURFACE_TYPE_IMAGE) {
    cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
  }
  cairo_paint(cairo);
  cairo_restore(cairo);
}

std::uint32_t packed(const Ink& ink) {
  const auto byte = [](double value) {
    return static_cast<std::uint32_t>(std::lround(255.0 * std::clamp(value, 0.0, 1.0)));
  };
  // Cairo wants colours multiplied by their opacity.
  return byte(ink.alpha) << 24 | byte(ink.red * ink.alpha) << 16 |
         byte(ink.green * ink.alpha) << 8 | byte(ink.blue * ink.alpha);
}

// Between the middles of the cells straight, beyond the outermost ones even.
double between_cells(const std::vector<double>& values, GridShape shape, double row, double col) {
  const auto inside = [](double at, std::size_t count) {
    return std::clamp(at - 0.5, 0.0, static_cast<double>(count - 1));
  };
  const double y = inside(row, shape.rows);
  const double x = inside(col, shape.cols);
  const auto top = static_cast<std::size_t>(y);
  const auto left = static_cast<std::size_t>(x);
  const std::size_t bottom = std::min(top + 1, shape.rows - 1);
  const std::size_t right = std::min(left + 1, shape.cols - 1);
  const auto at = [&](std::size_t r, std::size_t c) { return values[r * shape.cols + c]; };
  return std::lerp(std::lerp(at(top, left), at(top, right), x - std::floor(x)),
                   std::lerp(at(bottom, left), at(bottom, right), x - std::floor(x)),
                   y - std::floor(y));
}

}  // namespace

Ink heat_colour(double value) {
  // Perceptually even, and readable in grey: black, violet, red, orange, pale yellow.
  constexpr std::array<Ink, 5> kStops = {{{0.00, 0.00, 0.02},
                                          {0.34, 0.06, 0.43},
                                          {0.74, 0.22, 0.33},
                                          {0.98, 0.56, 0.04},
                                          {0.99, 1.0, 0.64}}};
  const double place = std::clamp(value, 0.0, 1.0) * (kStops.size() - 1);
  const std::size_t stop = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(stop);
  const Ink& low = kStops[stop];
  const Ink& high = kStops[stop + 1];
  return {std::lerp(low.red, high.red, part), std::lerp(low.green, high.green, part),
          std::lerp(low.blue, high.blue, part)};
}

Image grey(const Image& image) {
  Image result = image;
  for (std::size_t p = 0; p < image.pixels.size(); p += 3) {
    const int luma =
        (299 * image.pixels[p] + 587 * image.pixels[p + 1] + 114 * image.pixels[p + 2]) / 1000;
    for (std::size_t c = 0; c < 3; ++c) result.pixels[p + c] = static_cast<std::uint8_t>(luma);
  }
  return result;
}

Drawing::Drawing(PictureFormat format, double width, double height)
    : format_(format),
      surface_(surface_of(format, width, height, out_.get())),
      context_(cairo_create(surface_.get())) {
  if (cairo_status(cairo()) != CAIRO_STATUS_SUCCESS) {
    throw Error(ErrorKind::out_of_resources, "a drawing of " + std::to_string(std::lround(width)) +
                                                 " x " + std::to_string(std::lround(height)) +
                                                 " cannot be made: make it smaller");
  }
  if (format == PictureFormat::png) cairo_scale(cairo(), kPixelsOfPoint, kPixelsOfPoint);
  fill({0.0, 0.0, width, height}, kWhite);
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

double Drawing::width_of(const std::string& text, const TextStyle& style) const {
  choose_font(cairo(), style);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo(), text.c_str(), &extents);
  return extents.x_advance;
}

void Drawing::text(double x, double baseline, const std::string& text,
                   const TextStyle& style) const {
  const double width = width_of(text, style);  // chooses the font, too
  const double left = style.align == Align::left     ? x
                      : style.align == Align::centre ? x - width / 2.0
                                                     : x - width;
  ink(style.ink);
  cairo_move_to(cairo(), left, baseline);
  cairo_show_text(cairo(), text.c_str());
  cairo_new_path(cairo());  // text leaves a point behind that the next line would begin at
}

double Drawing::paragraph(double x, double baseline, double width, const std::string& text,
                          const TextStyle& style) const {
  constexpr double kLeading = 1.45;
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) {
    std::string longer = line;
    if (!longer.empty()) longer += ' ';
    longer += word;
    if (!line.empty() && width_of(longer, style) > width) {
      this->text(x, baseline, line, style);
      baseline += kLeading * style.size;
      line = word;
    } else {
      line = std::move(longer);
    }
  }
  this->text(x, baseline, line, style);
  return baseline + kLeading * style.size;
}

void Drawing::photo(const Image& image, const Rectangle& area) const {
  std::vector<std::uint32_t> pixels(image.width * image.height);
  for (std::size_t p = 0; p < pixels.size(); ++p) {
    pixels[p] = static_cast<std::uint32_t>(image.pixels[3 * p] << 16 |
                                           image.pixels[3 * p + 1] << 8 | image.pixels[3 * p + 2]);
  }
  const Surface surface = picture(CAIRO_FORMAT_RGB24, image.width, image.height, pixels);
  if (format_ != PictureFormat::png) {
    // SVG and PDF take JPEG as it is: a tenth of the bytes.
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
                   const Rectangle& area, double alpha) const {
  // Spread here, not by whoever shows the file: viewers of SVG differ in how they enlarge.
  constexpr std::size_t kSide = 160;
  std::vector<std::uint32_t> pixels(kSide * kSide);
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) {
      const auto place = [](std::size_t pixel, std::size_t cells) {
        return (static_cast<double>(pixel) + 0.5) * static_cast<double>(cells) / kSide;
      };
      const double value = between_cells(values, shape, place(y, shape.rows), place(x, shape.cols));
      Ink colour = heat_colour(value / largest);
      colour.alpha = alpha;
      pixels[y * kSide + x] = packed(colour);
    }
  }
  paint(cairo(), picture(CAIRO_FORMAT_ARGB32, kSide, kSide, pixels).get(), area);
}

void Drawing::heat_scale(const Rectangle& area) const {
  constexpr int kStops = 16;
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
    // A finished PNG surface says so; everything else is a failure.
    if (status != CAIRO_STATUS_SUCCESS && status != CAIRO_STATUS_SURFACE_FINISHED) {
      throw Error(
          status == CAIRO_STATUS_NO_MEMORY ? ErrorKind::out_of_resources : ErrorKind::internal,
          std::string("the drawing failed: ") + cairo_status_to_string(status));
    }
  }
  return std::move(*out_);
}

}  // namespace diml::explained
