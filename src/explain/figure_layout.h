#pragma once

#include <cstddef>
#include <vector>

#include "drawing.h"

namespace diml::explained {

// What a layout depends on, besides the parameters.
struct FigureContents {
  double source_aspect = 1.0;  // width / height
  double target_aspect = 1.0;
  std::size_t pairs = 0;       // that are shown
  double formula_width = 0.0;  // of the widest
  double share_width = 0.0;    // of the widest "12.3 %"
  std::size_t title_lines = 0;
  std::size_t caption_lines = 0;
};

enum class PairPlace : std::uint8_t { nowhere, between_photos, below };

// Where everything is, in points. The width is given; what does not fit beside the photos goes
// below them.
struct FigureLayout {
  double width = 0.0;
  double height = 0.0;
  double title = 0.0;  // baselines
  double names = 0.0;
  double caption = 0.0;
  Rectangle source;  // photos; without them empty
  Rectangle target;
  Rectangle source_heat;  // without weights empty
  Rectangle target_heat;
  std::vector<Rectangle> scales;  // of the heat maps
  PairPlace place = PairPlace::nowhere;
  Rectangle column;                // between the photos: room for labels and their arrows
  std::vector<Rectangle> entries;  // of the pairs, where they are below or the style has no arrows

  // The sizes that follow from the size of the text.
  static double margin(double font) { return 0.4 * font; }
  static double badge(double font) { return 1.5 * font; }     // a number's disc
  static double label(double font) { return 1.7 * font; }     // height of a label
  static double pitch(double font) { return 1.95 * font; }    // of labels
  static double leading(double font) { return 1.35 * font; }  // of lines
};

// Throws where the width has no room for the text.
FigureLayout figure_layout(const FigureParams& params, const FigureContents& contents);

}  // namespace diml::explained
