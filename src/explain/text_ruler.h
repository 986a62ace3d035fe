#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cairo.h>

#include "ink.h"

namespace diml::explained {

enum class Align : std::uint8_t { left, centre, right };

struct TextStyle {
  double size = 12.0;
  Ink ink = kBlack;
  Align align = Align::left;
  bool bold = false;
};

// Journals ask for it. Where it is not installed, fontconfig takes the nearest: the
// metric-compatible one of the system (Nimbus Sans, Liberation Sans), otherwise its sans-serif.
constexpr const char* kFontFamily = "Helvetica";

// Chooses the font of a style. Without hinting: widths are the same at every resolution, so that
// PNG, SVG and PDF have one layout.
void choose_font(cairo_t* cairo, const TextStyle& style);

// Text that cairo can draw: bytes that are no UTF-8 become '?' (file names may have any bytes).
std::string as_utf8(const std::string& text);

// Measures text before there is a drawing: the drawing's size depends on it.
class TextRuler {
 public:
  TextRuler();

  double width(const std::string& text, const TextStyle& style) const;
  // Lines that are broken at spaces to be at most this wide.
  std::vector<std::string> wrapped(const std::string& text, double width,
                                   const TextStyle& style) const;
  // The end of the name where the whole is too wide: names of photos differ there.
  std::string shortened(const std::string& name, double width, const TextStyle& style) const;

 private:
  std::unique_ptr<cairo_t, void (*)(cairo_t*)> context_;
};

}  // namespace diml::explained
