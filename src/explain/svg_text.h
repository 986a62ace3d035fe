#pragma once

#include <string>
#include <vector>

#include "drawing.h"

namespace diml::explained {

// Cairo writes the outlines of glyphs into SVG: such text cannot be searched, edited or restyled. So
// text goes into elements of its own, which are put into Cairo's file when it is finished.

// One line of text as an element; in points, as the file's view box.
std::string svg_text(double x, double baseline, const std::vector<TextRun>& runs,
                     const TextStyle& style);

// The file with the elements above everything else.
std::string with_svg_text(std::string svg, const std::string& elements);

}  // namespace diml::explained
