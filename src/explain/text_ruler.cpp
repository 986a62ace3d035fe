#include "text_ruler.h"

#include <new>
#include <sstream>

namespace diml::explained {
namespace {

// The length of the UTF-8 character at this place; 0 where there is none.
std::size_t length_of_character(const std::string& text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80U            ? 1
                             : (first >> 5U) == 0x06U ? 2
                             : (first >> 4U) == 0x0eU ? 3
                             : (first >> 3U) == 0x1eU ? 4
                                                      : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((static_cast<unsigned char>(text[at + k]) & 0xc0U) != 0x80U) return 0;
  }
  return length;
}

cairo_t* scratch() {
  cairo_surface_t* surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
  cairo_t* context = cairo_create(surface);
  cairo_surface_destroy(surface);  // the context keeps it
  return context;
}

}  // namespace

void choose_font(cairo_t* cairo, const TextStyle& style) {
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(cairo, options);
  cairo_font_options_destroy(options);
  cairo_select_font_face(cairo, kFontFamily, CAIRO_FONT_SLANT_NORMAL,
                         style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, style.size);
}

std::string as_utf8(const std::string& text) {
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(text, at);
    const bool control = length == 1 && static_cast<unsigned char>(text[at]) < 0x20U;
    safe += control ? " " : length == 0 ? "?" : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return safe;
}

TextRuler::TextRuler() : context_(scratch(), cairo_destroy) {
  if (cairo_status(context_.get()) != CAIRO_STATUS_SUCCESS) throw std::bad_alloc();
}

double TextRuler::width(const std::string& text, const TextStyle& style) const {
  choose_font(context_.get(), style);
  cairo_text_extents_t extents;
  cairo_text_extents(context_.get(), as_utf8(text).c_str(), &extents);
  return extents.x_advance;
}

std::vector<std::string> TextRuler::wrapped(const std::string& text, double width,
                                            const TextStyle& style) const {
  std::istringstream words(text);
  std::vector<std::string> lines;
  std::string line;
  for (std::string word; words >> word;) {
    std::string longer = line;
    if (!longer.empty()) longer += ' ';
    longer += word;
    if (!line.empty() && this->width(longer, style) > width) {
      lines.push_back(line);
      line = word;
    } else {
      line = std::move(longer);
    }
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string TextRuler::shortened(const std::string& name, double width,
                                 const TextStyle& style) const {
  if (this->width(name, style) <= width) return name;
  constexpr const char* kDots = "\u2026";
  std::string tail = as_utf8(name);
  while (!tail.empty() && this->width(kDots + tail, style) > width) {
    // Characters of several bytes are removed as a whole.
    do tail.erase(0, 1);
    while (!tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xc0U) == 0x80U);
  }
  return kDots + tail;
}

}  // namespace diml::explained
