#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "diml/explain.h"
#include "diml/image.h"

namespace diml {

enum class PictureFormat : std::uint8_t { png, svg, pdf };

enum class FigureStyle : std::uint8_t {
  arrows,    // from part to part
  numbered,  // the parts of a pair have the same number; nothing lies over the photos
  regions,   // from region to region, each with its share of the score; no pairs of cells
};
FigureStyle figure_style_named(std::string_view name);  // by these names; throws on others

struct FigurePanels {
  bool photos = true;   // both images, with the parts of the shown pairs
  bool weights = true;  // both heat maps and their scale
  bool pairs = true;    // the formula [That_ij] x [S_ij] of each shown pair
};
// From names with commas, as "photos,weights". Throws on other names, and without any.
FigurePanels figure_panels_named(std::string_view names);

struct FigureParams {
  std::size_t strongest = 5;  // in red: the largest contributions
  std::size_t weakest = 2;    // in blue: Explanation::weakest
  std::string source_name = "source";
  std::string target_name = "target";
  FigureStyle style = FigureStyle::arrows;
  FigurePanels panels{};
  bool title = true;           // both similarities
  bool caption = true;         // what the formulas mean, and how the match was computed
  double width = 504.0;        // in points; 7 inches: two columns of a journal
  double font_size = 8.0;      // in points; no text is smaller
  double dots_per_inch = 300;  // of a PNG
};

constexpr std::size_t kMostArrows = 24;  // of both colours; more cannot be distinguished

// Both images, the heat maps of their marginals, and the pairs of parts that count most and least,
// each with its formula [That_ij] x [S_ij]. The images are what the network saw: their cells are
// the grid's. The width is kept, the height follows. Text is text in SVG and PDF. Returns the
// file's bytes. Throws where the text does not fit into the width. With the DRAWING feature.
std::string draw_figure(const Explanation& explanation, const Image& source, const Image& target,
                        PictureFormat format, const FigureParams& params = {});

// The explanation as one interactive HTML file: pointing at a part shows its targets. The file
// contains the pictures, numbers and scripts and loads nothing. With the JSON feature.
std::string explain_page(const Explanation& explanation, const Image& source, const Image& target,
                         const FigureParams& params = {});

}  // namespace diml
