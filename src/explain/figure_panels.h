#pragma once

#include <vector>

#include "drawing.h"
#include "figure_layout.h"
#include "region_outline.h"
#include "shown_pairs.h"

namespace diml::explained {

// The panels of a figure, each drawn where the layout has it.
struct FigurePainter {
  const Drawing& drawing;
  const FigureLayout& layout;
  const Explanation& why;
  const FigureParams& params;
  const std::vector<ShownPair>& shown;

  void photo(const Image& image, const Rectangle& area, GridShape shape,
             const std::string& name) const;
  void weights() const;
  void arrows() const;   // with their labels
  void numbers() const;  // of the parts, in both photos
  void entries() const;  // the list of pairs

 private:
  double font() const { return params.font_size; }
  // Lines keep their proportion to the text.
  double stroke(double at_eight_points) const { return at_eight_points * font() / 8.0; }
  TextStyle text(Ink ink = kBlack, Align align = Align::left, bool bold = false) const {
    return {font(), ink, align, bold};
  }
  double baseline(double middle) const { return middle + 0.36 * font(); }

  void outline_region(const std::vector<Side>& sides, Ink ink, double width) const;
  double inset_of(const ShownPair& one, const Rectangle& cell, bool source) const;
  void mark_cells(const Rectangle& area, GridShape shape, bool source) const;
  void badge(const Rectangle& area, const ShownPair& one) const;
  double badge_width(const ShownPair& one) const;
  void numbers_in(const Rectangle& area, GridShape shape, bool source) const;
  void scale(const Rectangle& bar, double largest) const;
};

}  // namespace diml::explained
